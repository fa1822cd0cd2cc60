/** Metrics of the stack over time: of CloudWatch, at stage local of the log lines. */

import { html } from "console/html.js";
import { useLoad } from "console/load.js";
import { request } from "console/request.js";
import { makeHash, navigate } from "console/router.js";
import { SeriesChart } from "console/parts/chart.js";
import { CurlButton } from "console/parts/curl.js";
import { PageHeader } from "console/parts/page.js";
import { Empty, ErrorState, Skeleton } from "console/parts/states.js";

const PATH = "/ops/series";
const HOURS = [3, 24, 168];
const SECONDS_OF_HOUR = 3_600;

/** @param {{route: import("console/router.js").Route}} props */
export default function SeriesPage({ route }) {
  const list = useLoad(async (signal) => (await request(PATH, { signal })).data.items, []);
  const name = route.query.get("name") ?? list.data?.[0]?.name ?? "";
  const hours = Number(route.query.get("hours")) || HOURS[0];
  const change = (/** @type {Record<string, string | number>} */ changed) =>
    navigate(makeHash(["ops", "series"], { name, hours, ...changed }));
  return html`<div class="page">
    <${PageHeader} title="Series" about="What the functions of the stack did." />
    ${list.error && html`<${ErrorState} error=${list.error} onRetry=${list.reload} />`}
    ${!list.data && !list.error && html`<${Skeleton} rows=${3} />`}
    ${list.data?.length === 0 && html`<${Empty} title="There are no metrics" />`}
    ${name &&
    html`<div class="actions">
        <label class="field"
          ><span>Metric</span>
          <select value=${name} onChange=${(/** @type {any} */ event) => change({ name: event.currentTarget.value })}>
            ${(list.data ?? []).map((/** @type {any} */ one) => html`<option key=${one.name} value=${one.name}>${one.title}</option>`)}
          </select></label
        >
        <label class="field"
          ><span>Hours</span>
          <select value=${hours} onChange=${(/** @type {any} */ event) => change({ hours: event.currentTarget.value })}>
            ${HOURS.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}
          </select></label
        >
      </div>
      <${OneSeries} key=${`${name} ${hours}`} name=${name} hours=${hours} />`}
  </div>`;
}

/** @param {{name: string, hours: number}} props */
function OneSeries({ name, hours }) {
  const to = Math.floor(Date.now() / 60_000) * 60;
  const query = { name, from: to - hours * SECONDS_OF_HOUR, to };
  const { data, error, reload } = useLoad(async (signal) => (await request(PATH, { query, signal })).data, [name, hours]);
  if (error) return html`<${ErrorState} error=${error} onRetry=${reload} />`;
  if (!data) return html`<${Skeleton} rows=${5} />`;
  const known = data.points.filter((/** @type {any[]} */ [, value]) => value !== null).length;
  return html`<section>
    <h2>${data.title}</h2>
    <p class="muted">${data.unit}, one point for ${data.period} s; ${known} of ${data.points.length} points have data.</p>
    <${SeriesChart} label=${data.title} points=${data.points} unit=${` ${data.unit}`} renderX=${renderMinute} />
    <${CurlButton} path=${PATH} query=${query} />
  </section>`;
}

/** @param {number} seconds */
function renderMinute(seconds) {
  return new Date(seconds * 1_000).toISOString().slice(5, 16).replace("T", " ");
}
