/** Every ranking as bars, and totals by month as a series. */

import { useEffect, useState } from "preact/hooks";
import { html } from "console/html.js";
import {
  fillRequest, findOperation, listAllQueries, listNeeded, renderName, resolve, resolveItem,
} from "console/catalog.js"; // prettier-ignore
import { useLoad, usePages } from "console/load.js";
import { request } from "console/request.js";
import { makeHash, navigate, route as current } from "console/router.js";
import { getMonth, renderNumber } from "console/format.js";
import { Bars } from "console/parts/bars.js";
import { SeriesChart } from "console/parts/chart.js";
import { CurlButton } from "console/parts/curl.js";
import { Field, useTyped } from "console/parts/fields.js";
import { Overview } from "console/parts/overview.js";
import { Freshness, PageHeader } from "console/parts/page.js";
import { Empty, ErrorState, Skeleton } from "console/parts/states.js";

const PAGE = 20;
const MONTHS = 12;
const NOT_GROUPS = ["count", "total", "rank", "rank_more_than", "figures", "as_of", "rolled_up"];

/** @typedef {import("console/catalog.js").Query} Query */

/** @param {{route: import("console/router.js").Route}} props */
export default function ChartsPage({ route }) {
  const id = route.path[1];
  if (!id) return html`<${Overview} page="charts" title="Charts" about="Every figure that is declared: rankings as bars, totals by month as a series." queries=${listAllQueries("ranking", "total")} />`;
  const view = route.query.get("$view");
  const query = findOperation(id)?.queries.find(({ name, kind }) => (view ? name === view : ["ranking", "total"].includes(kind)));
  if (!query) return html`<div class="page"><${Empty} isPage title="There is no such figure"><a href="#/charts">All charts</a><//></div>`;
  const values = Object.fromEntries(route.query);
  for (const name of listNeeded(query)) if (name === "month") values.month ??= getMonth();
  return html`<${Figure} key=${query.name + id} query=${query} values=${values} />`;
}

/** @param {{query: Query, values: Record<string, string>}} props */
function Figure({ query, values }) {
  const isLive = values.live === "true";
  const needed = listNeeded(query);
  const filled = fillRequest(query, { ...values, limit: query.kind === "ranking" ? PAGE : undefined, live: isLive ? "true" : undefined });
  const change = (/** @type {string} */ name, /** @type {any} */ value) =>
    navigate(makeHash(["charts", query.operation.id], { ...values, ...Object.fromEntries(current.value.query), $view: query.name, [name]: value }), { replace: true });
  const missing = needed.filter((name) => !values[name]);
  return html`<div class="page">
    <${PageHeader} title=${query.summary} trail=${[{ text: "Charts", href: "#/charts" }]}>
      ${filled && html`<${CurlButton} path=${filled.path} query=${filled.query} />`}
    <//>
    <form class="filters" aria-label="Groups" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
      ${needed.map((name) => html`<${Group} key=${name} query=${query} name=${name} value=${values[name] ?? ""} onChange=${change} />`)}
      <label class="switch"
        ><input type="checkbox" checked=${isLive} onChange=${(/** @type {any} */ event) => change("live", event.currentTarget.checked ? "true" : "")} />Count
        live</label
      >
    </form>
    ${missing.length
      ? html`<${Empty} title=${`Choose ${missing.map(renderName).join(" and ").toLowerCase()}`}>This figure has one value for each.<//>`
      : query.kind === "ranking"
        ? html`<${Ranking} key=${JSON.stringify(filled)} query=${query} filled=${filled} />`
        : html`<${Total} query=${query} values=${values} filled=${filled} isLive=${isLive} />`}
  </div>`;
}

/** @param {{query: Query, name: string, value: string, onChange: (name: string, value: any) => void}} props */
function Group({ query, name, value, onChange }) {
  const [typed, setTyped] = useTyped(value, (/** @type {any} */ changed) => onChange(name, changed), 400);
  if (name === "month") {
    return html`<div class="field">
      <label for="group-month">Month</label>
      <input id="group-month" type="month" value=${typed} onInput=${(/** @type {any} */ event) => setTyped(event.currentTarget.value)} />
    </div>`;
  }
  const schema = resolve(query.operation.parameters.find((one) => one.name === name)?.schema);
  return html`<${Field} name=${name} idPrefix="group" schema=${{ type: "string", enum: schema.enum, format: schema.format }} value=${typed} onChange=${setTyped} />`;
}

/** @param {{query: Query, filled: any}} props */
function Ranking({ query, filled }) {
  const list = usePages(
    async (cursor, signal) => (await request(filled.path, { query: { ...filled.query, cursor }, signal })).data,
    [JSON.stringify(filled)],
  );
  const group = Object.keys(resolveItem(query.operation).properties ?? {}).filter((name) => !NOT_GROUPS.includes(name));
  if (list.error && !list.rows.length) return html`<${ErrorState} error=${list.error} onRetry=${list.retry} />`;
  if (!list.rows.length) {
    return list.isLoading
      ? html`<${Skeleton} rows=${6} />`
      : html`<${Empty} title="Nothing is counted here yet">A total appears after the next rollup, within about a minute.<//>`;
  }
  const rows = list.rows.map((row) => ({ name: group.map((name) => row[name]).join(" · "), value: row.total ?? row.count, rank: row.rank }));
  return html`<${Bars} label=${query.summary} rows=${rows} />
    ${list.error && html`<${ErrorState} error=${list.error} onRetry=${list.retry} compact />`}
    ${list.cursor && html`<button type="button" class="button" disabled=${list.isLoading} onClick=${list.loadMore}>Show more</button>`}
    <${Freshness} at=${list.at} data=${list.page} />`;
}

/** @param {{query: Query, values: Record<string, string>, filled: any, isLive: boolean}} props */
function Total({ query, values, filled, isLive }) {
  const isMonthly = listNeeded(query).includes("month");
  const loaded = useLoad((signal) => readMonths(query, values, isMonthly, isLive, signal), [JSON.stringify(filled)]);
  if (loaded.error) return html`<${ErrorState} error=${loaded.error} onRetry=${loaded.reload} />`;
  if (!loaded.data) return html`<${Skeleton} rows=${5} />`;
  const { rows, at } = loaded.data;
  const figure = rows.at(-1)?.figure;
  return html`<p class="big">
      <b class="number">${figure ? renderNumber(figure.total ?? figure.count) : "–"}</b>
      <span class="muted">${figure && figure.total !== undefined ? `of ${renderNumber(figure.count)} items` : "items"}</span>
      ${figure?.rank && html`<span class="badge">rank ${figure.rank}</span>`}
    </p>
    ${isMonthly && html`<${Months} label=${query.summary} rows=${rows} />`}
    <${Freshness} at=${at} isLive=${isLive} data=${figure} />`;
}

/** @param {{label: string, rows: {month: string, figure: any}[]}} props */
function Months({ label, rows }) {
  const [points, setPoints] = useState(/** @type {[number, number | null][]} */ ([]));
  useEffect(() => setPoints(rows.map(({ month, figure }) => [Date.parse(`${month}-01T00:00:00Z`) / 1000, figure ? Number(figure.total ?? figure.count) : null])), [rows]);
  return html`<${SeriesChart} label=${label} points=${points} kind="bars" renderX=${(/** @type {number} */ seconds) => new Date(seconds * 1000).toISOString().slice(0, 7)} />`;
}

/**
 * The figure of the month, and of those before it; of all time if it has no months.
 * @param {Query} query
 * @param {Record<string, string>} values
 * @param {boolean} isMonthly
 * @param {boolean} isLive
 * @param {AbortSignal} signal
 */
async function readMonths(query, values, isMonthly, isLive, signal) {
  const months = isMonthly ? listMonths(values.month) : [""];
  const rows = await Promise.all(
    months.map(async (month, place) => {
      const isLast = place === months.length - 1;
      const filled = fillRequest(query, { ...values, ...(month ? { month } : {}), live: isLive && isLast ? "true" : undefined });
      if (!filled) return { month, figure: null };
      const read = request(filled.path, { query: filled.query, signal });
      const answer = isLast ? await read : await read.catch(() => null);
      return { month, figure: answer?.data ?? null };
    }),
  );
  return { rows, at: new Date() };
}

/** The last twelve months up to one. @param {string} last */
function listMonths(last) {
  const [year, month] = last.split("-").map(Number);
  return Array.from({ length: MONTHS }, (_, place) => new Date(Date.UTC(year, month - MONTHS + place, 1)).toISOString().slice(0, 7));
}
