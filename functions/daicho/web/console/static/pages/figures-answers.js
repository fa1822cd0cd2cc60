/** What is shown of the answer of a figure: its chart, how fresh it is, and its table. */

import { useMemo } from "preact/hooks";
import { html } from "console/html.js";
import { renderNumber } from "console/format.js";
import { addHistograms, Histogram } from "console/pages/figures-histogram.js";
import { renderLabel } from "console/pages/figures-ranges.js";
import { FigureTable } from "console/pages/figures-table.js";
import { SeriesChart } from "console/parts/chart.js";
import { Empty } from "console/parts/states.js";
import { Time } from "console/parts/value.js";

/** @typedef {{id: string, title: string, read: (bucket: any) => string | number | null}} Shown */

const MAX_BARS = 62;
const OF_GROUP = ["count", "total"];
const OF_FIELD = ["count", "total", "mean", "min", "max", "variance"];

/**
 * A series: a chart of one figure, and a table of all.
 * @param {{label: string, data: any, chosen: string | undefined, onChoose: (figure: string) => void}} props
 */
export function SeriesAnswer({ label, data, chosen, onChoose }) {
  const { buckets, zone, step } = data;
  const figures = useMemo(() => listShown(buckets), [buckets]);
  const shown = figures.find(({ id }) => id === chosen) ?? figures.find(({ id }) => id === "total") ?? figures[0];
  const labels = useMemo(() => buckets.map((/** @type {any} */ bucket) => renderLabel(bucket, zone)), [buckets]);
  const points = useMemo(
    () => buckets.map((/** @type {any} */ bucket, /** @type {number} */ place) => [place, readNumber(shown?.read(bucket))]),
    [buckets, shown?.id],
  );
  const rows = useMemo(
    () => buckets.map((/** @type {any} */ bucket, /** @type {number} */ place) => [labels[place], ...figures.map(({ read }) => renderText(read(bucket)))]),
    [buckets],
  );
  const fields = Object.keys(buckets[0]?.figures ?? {}).filter((field) => buckets[0].figures[field].histogram?.length);
  const histograms = useMemo(
    () => fields.map((field) => ({ field, histogram: addHistograms(buckets.map((/** @type {any} */ { figures: all }) => all[field].histogram)) })),
    [buckets],
  );
  if (!shown) return html`<${Empty} title="The range has no buckets" />`;
  const isBars = buckets.length <= MAX_BARS && OF_GROUP.includes(shown.id.split(".").at(-1) ?? "");
  const unit = step ? `by ${step}` : "of the whole range";
  return html`<section>
      <div class="list-line">
        <p class="muted">${renderNumber(buckets.length)} ${buckets.length === 1 ? "bucket" : "buckets"} ${unit}, in the time zone <b>${zone}</b></p>
        <label class="list-line" for="figure-shown"
          ><span>Show</span>
          <select id="figure-shown" class="button" value=${shown.id} onChange=${(/** @type {any} */ event) => onChoose(event.currentTarget.value)}>
            ${figures.map(({ id, title }) => html`<option key=${id} value=${id}>${title}</option>`)}
          </select></label
        >
      </div>
      <${SeriesChart}
        label=${`${label}: ${shown.title}`}
        points=${points}
        labels=${labels}
        kind=${isBars ? "bars" : "line"}
        caption=${`${label}: ${shown.title} ${unit}, ${buckets.length} buckets. The table below has every value.`}
      />
      <${AsOf} data=${data} />
    </section>
    <section>
      <h2>Every value</h2>
      <${FigureTable} label=${`Values: ${label}`} titles=${[step ?? "range", ...figures.map(({ title }) => title)]} rows=${rows} />
    </section>
    ${histograms.map(({ field, histogram }) => html`<${Histogram} key=${field} title=${`Distribution of ${field}`} histogram=${histogram} />`)}`;
}

/** All figures of a group. @param {{data: any}} props */
export function GroupAnswer({ data }) {
  const figures = listShown([data]);
  const fields = Object.entries(data.figures ?? {}).filter(([, { histogram }]) => histogram?.length);
  return html`<section>
      <${FigureTable} label="Figures" titles=${["figure", "value"]} rows=${figures.map(({ title, read }) => [title, renderText(read(data))])} />
      <${AsOf} data=${data} />
    </section>
    ${fields.map(([field, { histogram }]) => html`<${Histogram} key=${field} title=${`Distribution of ${field}`} histogram=${histogram} />`)}`;
}

/** How fresh figures are. @param {{data: any}} props */
function AsOf({ data }) {
  return html`<p class="freshness muted small">
    <i class=${data.rolled_up ? "dot" : "dot live"} aria-hidden="true"></i>
    <span>${data.rolled_up ? "Rolled up" : "Live"}${data.as_of && html`${" · includes everything up to "}<${Time} value=${data.as_of} />`}${data.uncertain && " · uncertain: later changes are missing until the stack is recovered"}</span>
  </p>`;
}

/**
 * The figures that buckets have: those of the group, then those of each field. One that is null in
 * every bucket with values is not declared.
 * @param {any[]} buckets
 * @returns {Shown[]}
 */
function listShown(buckets) {
  const [first] = buckets;
  if (!first) return [];
  const own = OF_GROUP.filter((name) => first[name] !== undefined).map((name) => ({ id: name, title: name, read: (/** @type {any} */ bucket) => bucket[name] }));
  const further = Object.keys(first.figures ?? {}).flatMap((field) =>
    OF_FIELD.filter((name) => name === "mean" || buckets.some(({ figures }) => (figures[field]?.[name] ?? null) !== null)).map((name) => ({
      id: `${field}.${name}`,
      title: `${field} ${name}`,
      read: (/** @type {any} */ bucket) => bucket.figures?.[field]?.[name] ?? null,
    })),
  );
  return [...own, ...further];
}

/** A number for a chart: it has fewer digits than the text. @param {string | number | null | undefined} value */
function readNumber(value) {
  return value === null || value === undefined ? null : Number(value);
}

/** @param {string | number | null} value */
function renderText(value) {
  return value === null ? null : String(value);
}
