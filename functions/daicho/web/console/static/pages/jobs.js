/** Jobs of the tenant: restores of archived items, deletions of items with what refers to them, and its own. */

import { html } from "console/html.js";
import { renderPlural } from "console/catalog.js";
import { renderNumber } from "console/format.js";
import { useJob, usePages } from "console/load.js";
import { request } from "console/request.js";
import { makeHash } from "console/router.js";
import { CurlButton } from "console/parts/curl.js";
import { PageHeader } from "console/parts/page.js";
import { Empty, ErrorState, JobState, Skeleton } from "console/parts/states.js";
import { PagedTable } from "console/parts/table.js";
import { Time } from "console/parts/value.js";

const PATH = "/jobs";
const PAGE = 50;
const TRAIL = [{ text: "Jobs", href: "#/jobs" }];
const COUNTS = [
  ["restored", "Restored"],
  ["replaced", "Of them replaced a live item"],
  ["already", "Restored by an earlier job"],
  ["newer", "Left alone: a live item exists"],
  ["waiting", "Left alone: the expired item is not archived yet"],
  ["failed", "Do not fit the declarations of today"],
];
const REMOVED = [
  ["items", "Items removed"],
  ["tombstones", "Tombstones"],
  ["objects", "Objects removed"],
  ["payloads", "Failed records removed"],
];
const COLUMNS = [
  { name: "asked_at", title: "Started", width: "11rem" },
  { name: "kind", title: "Job", width: "minmax(12rem, 1fr)", render: renderKind },
  { name: "state", title: "State", width: "8rem" },
  { name: "updated_at", title: "Last progress", width: "11rem" },
];

/** @type {Record<string, any>} */
const DETAILS = { restore: Restore, cascade: Cascade };

/** @param {{route: import("console/router.js").Route}} props */
export default function JobsPage({ route }) {
  const id = route.path[1];
  return id ? html`<${OneJob} key=${id} id=${id} />` : html`<${JobList} />`;
}

/** @param {any} job */
function renderKind(job) {
  if (job.kind === "cascade") return `Deletion of ${job.item}`;
  if (job.kind !== "restore") return "Deletion of the tenant";
  return `${job.dry_run ? "Trial restore" : "Restore"} of ${renderPlural(job.entity)}`;
}

function JobList() {
  const list = usePages(async (cursor, signal) => (await request(PATH, { query: { limit: PAGE, cursor }, signal })).data, []);
  return html`<div class="page full">
    <${PageHeader} title="Jobs" about="Work that takes longer than a request, newest first."><${CurlButton} path=${PATH} /><//>
    <${PagedTable}
      label="Jobs"
      columns=${COLUMNS}
      list=${list}
      getHref=${(/** @type {any} */ job) => makeHash(["jobs", job.id])}
      empty=${html`<${Empty} title="There was no job yet">Jobs begin on the page <a href="#/archive">Archive</a>.<//>`}
    />
  </div>`;
}

/** @param {{id: string}} props */
function OneJob({ id }) {
  const path = `${PATH}/${encodeURIComponent(id)}`;
  const { data, error, reload } = useJob(path);
  return html`<div class="page narrow">
    <${PageHeader} title=${data ? renderKind(data) : "Job"} trail=${TRAIL}><${CurlButton} path=${path} /><//>
    ${error && html`<${ErrorState} error=${error} onRetry=${reload} compact />`}
    ${!data && !error && html`<${Skeleton} rows=${4} />`}
    ${data &&
    html`<p>
        <${JobState} state=${data.state} />
      </p>
      <${DETAILS[data.kind] ?? Deletion} job=${data} />
      ${data.error && html`<p><bdi>${data.error}</bdi></p>`}`}
  </div>`;
}

/** @param {{job: any}} props */
function Restore({ job }) {
  const done = COUNTS.reduce((sum, [name]) => sum + (name === "replaced" ? 0 : job.counts[name]), 0);
  return html`<progress max=${Math.max(1, job.items)} value=${Math.min(done, job.items)} aria-label="Items that were worked on"></progress>
    ${job.dry_run && html`<p class="muted">A trial: nothing was written. It counts what a restore would do.</p>`}
    <dl class="details">
      <div><dt>Selected</dt><dd class="number">${renderNumber(job.items)} items in ${renderNumber(job.rows)} rows</dd></div>
      ${COUNTS.map(([name, text]) => html`<div key=${name}><dt>${text}</dt><dd class="number">${renderNumber(job.counts[name])}</dd></div>`)}
      ${job.unreadable > 0 && html`<div><dt>Objects that cannot be read</dt><dd class="number">${renderNumber(job.unreadable)}</dd></div>`}
      <div><dt>Deleted between</dt><dd><${Time} value=${job.since} /> and <${Time} value=${job.until} /></dd></div>
      <div><dt>Started</dt><dd><${Time} value=${job.asked_at} /> by <bdi>${job.asked_by ?? "nobody"}</bdi></dd></div>
    </dl>
    ${job.failures.length > 0 &&
    html`<h2>Cannot be restored</h2>
      <ul>${job.failures.map((/** @type {any} */ one) => html`<li key=${one.item}><bdi>${one.item}</bdi>: <bdi>${one.reason}</bdi></li>`)}</ul>`}`;
}

/** @param {{job: any}} props */
function Cascade({ job }) {
  return html`<dl class="details">
    <div><dt>Items removed</dt><dd class="number">${renderNumber(job.deleted)}</dd></div>
    <div><dt>Started</dt><dd><${Time} value=${job.asked_at} /> by <bdi>${job.asked_by ?? "nobody"}</bdi></dd></div>
  </dl>`;
}

/** @param {{job: any}} props */
function Deletion({ job }) {
  return html`<dl class="details">
    <div><dt>Phase</dt><dd>${job.phase}, pass ${renderNumber(job.passes)}</dd></div>
    ${REMOVED.map(([name, text]) => html`<div key=${name}><dt>${text}</dt><dd class="number">${renderNumber(job.removed[name])}</dd></div>`)}
    ${job.waits_until && html`<div><dt>Waits until</dt><dd><${Time} value=${job.waits_until} /></dd></div>`}
    <div><dt>Started</dt><dd><${Time} value=${job.asked_at} /></dd></div>
  </dl>`;
}
