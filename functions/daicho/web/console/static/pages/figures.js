/** Figures of groups: series over time, histograms, and every text of them in a table. */

import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "console/html.js";
import { fillRequest, listFigureQueries, listNeeded, renderName, resolve } from "console/catalog.js";
import { useLoad } from "console/load.js";
import { request } from "console/request.js";
import { makeHash, navigate } from "console/router.js";
import { GroupAnswer, SeriesAnswer } from "console/pages/figures-answers.js";
import { BUCKETS, makeRange } from "console/pages/figures-ranges.js";
import { CurlButton } from "console/parts/curl.js";
import { Overview } from "console/parts/overview.js";
import { PageHeader } from "console/parts/page.js";
import { Empty, ErrorState, Skeleton } from "console/parts/states.js";

/**
 * @typedef {import("console/catalog.js").Query} Query
 * @typedef {Record<string, string>} Values
 */

const WHOLE = "whole";
const TYPED_MS = 400;
const OF_RANGE = ["from", "to", "step", "live"];
const DATE = /^\d{4}-\d\d-\d\d$/;
const LOCAL_HOUR = /^\d{4}-\d\d-\d\dT\d\d:\d\d$/;

/** @param {{route: import("console/router.js").Route}} props */
export default function FiguresPage({ route }) {
  const [, id] = route.path;
  if (!id) return html`<${Overview} page="figures" title="Figures" about="Series over time, averages, extremes and histograms of every group that is declared with them." queries=${listFigureQueries()} />`;
  const view = route.query.get("$view");
  const query = listFigureQueries().find(({ name, operation }) => operation.id === id && (!view || view === name));
  if (!query) return html`<div class="page"><${Empty} isPage title="There is no such figure"><a href="#/figures">All figures</a><//></div>`;
  const View = query.kind === "series" ? SeriesFigure : GroupFigure;
  return html`<${View} key=${query.name + id} query=${query} values=${Object.fromEntries(route.query)} />`;
}

/**
 * A figure of a group: its inputs, the request, and what is shown of the answer.
 * @param {{query: Query, values: Values, sent: Values, onChange: (changed: Record<string, any>) => void,
 *   show: (data: any) => any, inputs?: (errors: Values) => any}} props
 *   `sent`: all values of the request. `inputs`: those of the range, with what is wrong with each
 */
function Figure({ query, values, sent, onChange, show, inputs }) {
  const filled = fillRequest(query, sent);
  const { data, error, isLoading, reload } = useLoad(
    (signal) => readFigure(filled, signal),
    [JSON.stringify(filled)],
  );
  const groups = listNeeded(query).filter((name) => !OF_RANGE.includes(name));
  const missing = groups.filter((name) => !values[name]);
  const errors = Object.fromEntries((error?.errors ?? []).map((/** @type {any} */ one) => [one.field.split(".").at(-1), one.message]));
  return html`<div class="page">
    <${PageHeader} title=${query.summary} trail=${[{ text: "Figures", href: "#/figures" }]}>
      ${filled && html`<${CurlButton} path=${filled.path} query=${filled.query} />`}
    <//>
    <form class="filters" aria-label="Group and range" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
      ${groups.map((name) => {
        const choices = resolve(query.operation.parameters.find((one) => one.name === name)?.schema).enum;
        return html`<${Input} key=${name} name=${name} value=${values[name] ?? ""} choices=${choices} problem=${errors[name]} onChange=${onChange} />`;
      })}
      ${inputs?.(errors)}
      <label class="switch"
        ><input type="checkbox" checked=${values.live === "true"} onChange=${(/** @type {any} */ event) => onChange({ live: event.currentTarget.checked ? "true" : "" })} />Count
        live</label
      >
    </form>
    ${missing.length > 0
      ? html`<${Empty} title=${`Choose ${missing.map(renderName).join(" and ").toLowerCase()}`}>This figure has one value for each.<//>`
      : error
        ? html`<${ErrorState} error=${error} onRetry=${reload} />`
        : data
          ? html`<div class="answer" aria-busy=${isLoading}>${show(data)}</div>`
          : html`<${Skeleton} rows=${6} />`}
  </div>`;
}

/**
 * The answer; an older API does not send whether it is rolled up, which is then what was asked for.
 * @param {ReturnType<typeof fillRequest>} filled
 * @param {AbortSignal} signal
 */
async function readFigure(filled, signal) {
  if (!filled) return null;
  const { data } = await request(filled.path, { query: filled.query, signal });
  return { rolled_up: filled.query.live !== "true", ...data };
}

/** @param {{query: Query, values: Values}} props */
function SeriesFigure({ query, values }) {
  const series = /** @type {NonNullable<Query["series"]>} */ (query.series);
  const step = values.step ?? series.unit;
  const unit = step === WHOLE ? series.unit : step;
  const last = makeRange(series, unit, new Date());
  const { from = last.from, to = last.to } = values;
  const change = (/** @type {Record<string, any>} */ changed) =>
    navigate(makeHash(["figures", query.operation.id], { $view: query.name, ...values, ...changed }), { replace: true });
  // The address gets the range that is shown: the link shows the same tomorrow.
  useEffect(() => {
    if (!values.from || !values.to || !values.step) change({ from, to, step });
  }, [values.from, values.to, values.step]);
  const isTyped = (/** @type {string} */ text) => (unit === "hour" ? LOCAL_HOUR : DATE).test(text);
  const type = !isTyped(from) || !isTyped(to) ? "text" : unit === "hour" ? "datetime-local" : "date";
  const inputs = (/** @type {Values} */ errors) => html`
    ${[["from", from], ["to", to]].map(
      ([name, value]) => html`<${Input} key=${name + type} name=${name} type=${type} value=${value} problem=${errors[name]} onChange=${change} />`,
    )}
    <${Input} name="step" value=${step} choices=${[...series.steps, WHOLE]} problem=${errors.step} onChange=${change} />
    <button type="button" class="button" onClick=${() => change(last)}>Last ${BUCKETS} ${unit}s</button>
  `;
  return html`<${Figure}
    query=${query}
    values=${values}
    sent=${{ ...values, from, to, step: step === WHOLE ? "" : step }}
    inputs=${inputs}
    onChange=${change}
    show=${(/** @type {any} */ data) => html`<${SeriesAnswer} label=${query.summary} data=${data} chosen=${values.$figure} onChoose=${(/** @type {string} */ figure) => change({ $figure: figure })} />`}
  />`;
}

/** @param {{query: Query, values: Values}} props */
function GroupFigure({ query, values }) {
  const change = (/** @type {Record<string, any>} */ changed) =>
    navigate(makeHash(["figures", query.operation.id], { $view: query.name, ...values, ...changed }), { replace: true });
  return html`<${Figure} query=${query} values=${values} sent=${values} onChange=${change} show=${(/** @type {any} */ data) => html`<${GroupAnswer} data=${data} />`} />`;
}

/**
 * What a request is made of: a text, a choice, a date or a local time.
 * @param {{name: string, value: string, type?: string, choices?: string[], problem?: string,
 *   onChange: (changed: Values) => void}} props
 */
function Input({ name, value, type = "text", choices, problem, onChange }) {
  const [typed, setTyped] = useState(value);
  const commit = useRef(() => {});
  // The newest one: another input may have changed the address since this one was typed in.
  commit.current = () => {
    if (typed !== value) onChange({ [name]: typed });
  };
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    const timer = setTimeout(() => commit.current(), TYPED_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const id = `figure-${name}`;
  const common = { id, name, "aria-invalid": problem ? "true" : undefined, "aria-describedby": problem ? `${id}-problem` : undefined };
  return html`<div class=${problem ? "field invalid" : "field"}>
    <label for=${id}>${renderName(name)}</label>
    ${choices
      ? html`<select ...${common} value=${value} onChange=${(/** @type {any} */ event) => onChange({ [name]: event.currentTarget.value })}>
          ${!choices.includes(value) && html`<option value=${value}>${value || "Choose…"}</option>`}
          ${choices.map((one) => html`<option key=${one} value=${one}>${one === WHOLE ? "the whole range" : one}</option>`)}
        </select>`
      : html`<input ...${common} type=${type} dir="auto" autocomplete="off" value=${typed} onInput=${(/** @type {any} */ event) => setTyped(event.currentTarget.value)} onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Enter" && !event.isComposing && commit.current()} />`}
    ${problem && html`<p class="field-problem" id=${`${id}-problem`}>${problem}</p>`}
  </div>`;
}
