/** Redrives and dismissals: all of the last 90 days, and the progress of one. */

import { html } from "console/html.js";
import { useJob, usePages } from "console/load.js";
import { request } from "console/request.js";
import { makeHash } from "console/router.js";
import { renderNumber } from "console/format.js";
import { CurlButton } from "console/parts/curl.js";
import { PageHeader } from "console/parts/page.js";
import { Empty, ErrorState, JobState, Skeleton } from "console/parts/states.js";
import { PagedTable } from "console/parts/table.js";
import { Time } from "console/parts/value.js";

const PATH = "/ops/redrives";
const PAGE = 50;
const TRAIL = [
  { text: "Quarantine", href: "#/ops/quarantine" },
  { text: "Redrives", href: "#/ops/redrives" },
];
const COUNTS = [
  ["applied", "Applied"],
  ["dismissed", "Dismissed"],
  ["already_done", "Had been applied before"],
  ["uncertain", "Left to a recount"],
  ["still_failing", "Still failing"],
];

/** @param {{route: import("console/router.js").Route}} props */
export default function RedrivesPage({ route }) {
  const id = route.path[2];
  return id ? html`<${OneRedrive} key=${id} id=${id} />` : html`<${Redrives} />`;
}

function Redrives() {
  const list = usePages(async (cursor, signal) => (await request(PATH, { query: { limit: PAGE, cursor }, signal })).data, []);
  const columns = [
    { name: "asked_at", title: "Started", width: "11rem" },
    { name: "state", title: "State", width: "8rem" },
    { name: "count", title: "Records", width: "7rem", isNumber: true },
    { name: "applied", title: "Applied", width: "7rem", isNumber: true },
    { name: "dismissed", title: "Dismissed", width: "7rem", isNumber: true },
    { name: "still_failing", title: "Still failing", width: "8rem", isNumber: true },
    { name: "asked_by", title: "By", width: "minmax(8rem, 1fr)" },
  ];
  return html`<div class="page full">
    <${PageHeader} title="Redrives" about="Those of the last 90 days." trail=${TRAIL.slice(0, 1)}><${CurlButton} path=${PATH} /><//>
    <${PagedTable}
      label="Redrives"
      columns=${columns}
      list=${list}
      getHref=${(/** @type {any} */ row) => makeHash(["ops", "redrives", row.id])}
      empty=${html`<${Empty} title="There was no redrive in the last 90 days" />`}
    />
  </div>`;
}

/** @param {{id: string}} props */
function OneRedrive({ id }) {
  const path = `${PATH}/${encodeURIComponent(id)}`;
  const { data, error, reload } = useJob(path);
  const worked = data ? COUNTS.reduce((sum, [name]) => sum + (data[name] ?? 0), 0) : 0;
  return html`<div class="page narrow">
    <${PageHeader} title=${data?.action === "dismiss" ? "Dismissal" : "Redrive"} trail=${TRAIL}><${CurlButton} path=${path} /><//>
    ${error && html`<${ErrorState} error=${error} onRetry=${reload} compact />`}
    ${!data && !error && html`<${Skeleton} rows=${4} />`}
    ${data &&
    html`<p>
        <${JobState} state=${data.state} />
        <span class="number"> ${renderNumber(Math.min(worked, data.count))} of ${renderNumber(data.count)}</span> records
      </p>
      <progress max=${Math.max(1, data.count)} value=${Math.min(worked, data.count)} aria-label="Records that were worked on"></progress>
      <dl class="details">
        ${COUNTS.map(([name, text]) => html`<div key=${name}><dt>${text}</dt><dd class="number">${renderNumber(data[name] ?? 0)}</dd></div>`)}
        <div><dt>Started</dt><dd><${Time} value=${data.asked_at} /> by <bdi>${data.asked_by}</bdi></dd></div>
      </dl>
      ${data.error && html`<p class="muted"><bdi>${data.error}</bdi></p>`}
      ${data.state === "succeeded" && data.still_failing > 0 && html`<p>Records that fail again stay in <a href="#/ops/quarantine">Quarantine</a>: correct the cause first.</p>`}`}
  </div>`;
}
