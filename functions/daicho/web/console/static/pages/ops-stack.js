/** Generations of declarations, the audit of the archive, deletions of tenants, actions of operators. */

import { html } from "console/html.js";
import { useLoad, usePages } from "console/load.js";
import { request } from "console/request.js";
import { renderNumber } from "console/format.js";
import { CurlButton } from "console/parts/curl.js";
import { ask } from "console/parts/dialog.js";
import { PageHeader } from "console/parts/page.js";
import { Empty, ErrorState, Skeleton } from "console/parts/states.js";
import { showToast } from "console/parts/status.js";
import { PagedTable } from "console/parts/table.js";
import { FullValue, Time } from "console/parts/value.js";

const PAGE = 50;
const TENANTS = [
  { name: "tenant", title: "Tenant", width: "minmax(8rem, 1fr)" },
  { name: "state", title: "State", width: "8rem" },
  { name: "phase", title: "Phase", width: "8rem" },
  { name: "asked_by", title: "Asked by", width: "minmax(8rem, 1fr)" },
  { name: "asked_at", title: "Asked", width: "11rem" },
  { name: "forget_due", title: "Next pass over the archive", width: "14rem" },
];
const USAGE = ["requests", "refused", "read_units", "write_units", "bytes", "dollars"].map((name) => ({ name, title: name.replace("_", " "), isNumber: true }));
const ACTIONS = [
  { name: "at", title: "When", width: "11rem" },
  { name: "user", title: "Who", width: "minmax(8rem, 1fr)" },
  { name: "action", title: "What", width: "10rem" },
  { name: "target", title: "On what", width: "minmax(8rem, 1fr)" },
  { name: "detail", title: "Result", width: "minmax(8rem, 1fr)" },
];

/** @param {{route: import("console/router.js").Route}} props */
export default function StackPage({ route }) {
  switch (route.path[1]) {
    case "generations":
      return html`<${Generations} />`;
    case "audit":
      return html`<${Audit} />`;
    case "tenants":
      return html`<${List} title="Tenants" about="Deletions of tenants, newest first." path="/ops/tenants" columns=${TENANTS} empty="No tenant was deleted" />`;
    case "usage":
      return html`<${List} title="Usage" about="The ten tenants that cost most today, in UTC, at the prices of us-east-1." path="/ops/usage" query=${{}} columns=${[TENANTS[0], ...USAGE]} empty="No tenant used anything" />`;
    default:
      return html`<${List} title="Log" about="What operators did in the last 90 days." path="/ops/log" columns=${ACTIONS} empty="No operator did anything yet" />`;
  }
}

/** @param {{title: string, about: string, path: string, columns: any[], empty: string, query?: object}} props */
function List({ title, about, path, columns, empty, query = { limit: PAGE } }) {
  const list = usePages(async (cursor, signal) => (await request(path, { query: { ...query, cursor }, signal })).data, [path]);
  return html`<div class="page full">
    <${PageHeader} title=${title} about=${about}><${CurlButton} path=${path} query=${query} /><//>
    <${PagedTable}
      label=${title}
      columns=${columns}
      list=${list}
      empty=${html`<${Empty} title=${empty} />`}
    />
  </div>`;
}

function Generations() {
  const path = "/ops/generations";
  const { data, error, reload } = useLoad(async (signal) => (await request(path, { signal })).data, []);
  return html`<div class="page">
    <${PageHeader} title="Generations" about="What each change of a declaration changed, newest first."><${CurlButton} path=${path} /><//>
    ${error && html`<${ErrorState} error=${error} onRetry=${reload} />`}
    ${!data && !error && html`<${Skeleton} />`}
    ${data &&
    html`<table class="plain">
      <thead><tr><th scope="col">Entity</th><th scope="col">Generation</th><th scope="col">Changes</th></tr></thead>
      <tbody>
        ${data.items.map(
          (/** @type {any} */ row) => html`<tr key=${`${row.entity} ${row.generation}`}>
            <th scope="row"><bdi>${row.entity}</bdi></th>
            <td class="number">${row.generation}</td>
            <td>${row.changes.length ? html`<ul>${row.changes.map((/** @type {string} */ text) => html`<li key=${text}><bdi>${text}</bdi></li>`)}</ul>` : html`<span class="muted">the first one</span>`}</td>
          </tr>`,
        )}
      </tbody>
    </table>`}
  </div>`;
}

function Audit() {
  const path = "/ops/audit";
  const { data, error, reload } = useLoad(async (signal) => (await request(path, { signal })).data, []);
  const start = async () => {
    const text = "It compares the archive with the deletions of the stream, and reads the objects of each day.";
    if (!(await ask({ title: "Audit the archive?", text, confirm: "Start the audit" }))) return;
    try {
      await request(path, { method: "POST" });
      showToast("The audit was started.");
      reload();
    } catch (/** @type {any} */ problem) {
      showToast(problem.message, "failed");
    }
  };
  return html`<div class="page">
    <${PageHeader} title="Audit of the archive" about="Whether each deletion by TTL is in the archive, once.">
      <${CurlButton} path=${path} />
      <button type="button" class="button primary" onClick=${start}>Start an audit</button>
    <//>
    ${error && html`<${ErrorState} error=${error} onRetry=${reload} />`}
    ${!data && !error && html`<${Skeleton} rows=${4} />`}
    ${data && !data.day && html`<${Empty} title="There was no audit yet" />`}
    ${data?.day &&
    html`<dl class="details">
      <div><dt>Day</dt><dd>${data.day}</dd></div>
      <div><dt>Complete</dt><dd><${Time} value=${data.complete_at} /></dd></div>
      <div><dt>Parts that are done</dt><dd class="number">${renderNumber(data.done.length)}</dd></div>
      <div><dt>Parts that were given up</dt><dd class="number">${renderNumber(data.given_up.length)}</dd></div>
      <div><dt>Mismatches</dt><dd class="number">${renderNumber(data.mismatches)}</dd></div>
      <div><dt>Findings</dt><dd>${data.findings.length ? html`<${FullValue} value=${data.findings} />` : "none"}</dd></div>
    </dl>`}
  </div>`;
}
