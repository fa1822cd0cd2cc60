/** The newest verification: what differs from the base items, and repairs. */

import { useEffect } from "preact/hooks";
import { html } from "console/html.js";
import { renderNumber } from "console/format.js";
import { useLoad } from "console/load.js";
import { request } from "console/request.js";
import { CurlButton } from "console/parts/curl.js";
import { ask } from "console/parts/dialog.js";
import { PageHeader } from "console/parts/page.js";
import { Empty, ErrorState, Skeleton } from "console/parts/states.js";
import { showToast } from "console/parts/status.js";
import { Time } from "console/parts/value.js";

const PATH = "/ops/verify";
const EVERY_MS = 2_000;
const READ = "It reads the whole table once, while writes continue. Nothing is changed.";
const REPAIR = "Rows, reservations and versions that follow from the base items are written again. Items themselves keep their fields.";

export default function VerifyPage() {
  const { data, error, reload } = useLoad(async (signal) => (await request(PATH, { signal })).data, []);
  const isRunning = data?.state === "running";
  useEffect(() => {
    const timer = setInterval(() => isRunning && document.visibilityState === "visible" && reload(), EVERY_MS);
    return () => clearInterval(timer);
  }, [isRunning]);
  const start = async (/** @type {boolean} */ repair) => {
    const [title, text, confirm] = repair ? ["Repair the damage?", REPAIR, "Repair"] : ["Verify the table?", READ, "Verify"];
    if (!(await ask({ title, text, confirm, isDangerous: repair }))) return;
    try {
      await request(PATH, { method: "POST", body: { repair } });
      showToast("The verification was started.");
    } catch (/** @type {any} */ problem) {
      showToast(problem.message, "failed");
    }
    reload();
  };
  return html`<div class="page">
    <${PageHeader} title="Verification" about="Whether all that is stored follows from the base items.">
      <${CurlButton} path=${PATH} />
      <button type="button" class="button primary" disabled=${isRunning} onClick=${() => start(false)}>Verify</button>
      ${data?.outcome === "damage" && html`<button type="button" class="button" onClick=${() => start(true)}>Repair</button>`}
    <//>
    ${error && html`<${ErrorState} error=${error} onRetry=${reload} />`}
    ${!data && !error && html`<${Skeleton} rows=${4} />`}
    ${data && !data.state && html`<${Empty} title="Nothing was verified yet" />`}
    ${data?.state && html`<${Result} job=${data} /><${Findings} rows=${data.findings} />`}
  </div>`;
}

/** @param {{job: any}} props */
function Result({ job }) {
  const counts = job.counts ?? {};
  const figures = [
    ["Result", job.outcome ?? `${job.state}${job.phase === "scan" ? ` · ${job.percent} %` : ""}`],
    ["Of", [job.entity, job.tenant].filter(Boolean).join(" ") || `${renderNumber(Math.round(job.sample * 100))} % of the table`],
    ["Items", renderNumber(counts.items ?? 0)],
    ["Rows", renderNumber(counts.rows ?? 0)],
    ["Damage", renderNumber(counts.damage ?? 0)],
    ["Write units of its repair", renderNumber(counts.repair_units ?? 0)],
    ["Repaired", renderNumber(counts.repaired ?? 0)],
    ["Undecided", renderNumber(counts.undecided ?? 0)],
    ["Late, no damage", renderNumber(counts.lag ?? 0)],
  ];
  return html`<dl class="details" aria-label="Verification">
    <div><dt>Asked</dt><dd><${Time} value=${job.asked_at} /> <bdi>${job.asked_by}</bdi></dd></div>
    ${figures.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd class="number">${value}</dd></div>`)}
    ${job.reason && html`<div><dt>Reason</dt><dd>${job.reason}</dd></div>`}
  </dl>`;
}

/** @param {{rows: any[]}} props */
function Findings({ rows }) {
  if (!rows?.length) return null;
  return html`<table class="plain" aria-label="Findings">
    <thead><tr><th scope="col">Finding</th><th scope="col">Tenant</th><th scope="col">Key</th><th scope="col">Expected</th><th scope="col">Found</th></tr></thead>
    <tbody>
      ${rows.map(
        (row) => html`<tr key=${`${row.kind} ${row.key.join(" ")}`}>
          <th scope="row">${row.kind} <span class="badge">${row.repaired ? "repaired" : row.verdict}</span></th>
          <td><bdi>${row.tenant || "–"}</bdi></td>
          <td><bdi>${row.key.filter(Boolean).join(" · ")}</bdi></td>
          <td><bdi>${row.expected}</bdi></td>
          <td><bdi>${row.found}</bdi>${row.decision && html`<p class="muted">${row.decision}</p>`}</td>
        </tr>`,
      )}
    </tbody>
  </table>`;
}
