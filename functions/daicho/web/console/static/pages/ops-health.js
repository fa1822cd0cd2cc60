/** The health of the stack: delays, what was set aside, and the states of declarations. */

import { useEffect } from "preact/hooks";
import { html } from "console/html.js";
import { renderNumber } from "console/format.js";
import { useLoad } from "console/load.js";
import { request } from "console/request.js";
import { config } from "console/session.js";
import { CurlButton } from "console/parts/curl.js";
import { ask } from "console/parts/dialog.js";
import { Icon } from "console/parts/icons.js";
import { PageHeader } from "console/parts/page.js";
import { ErrorState, Skeleton } from "console/parts/states.js";
import { showToast } from "console/parts/status.js";
import { Time } from "console/parts/value.js";

const PATH = "/ops/health";
const EVERY_MS = 10_000;
const POISON = "/ops/demo/poison";

export default function HealthPage() {
  const { data, error, reload } = useLoad(async (signal) => (await request(PATH, { signal })).data, []);
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === "visible" && reload(), EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return html`<div class="page">
    <${PageHeader} title="Health" about="The stack across all tenants, read every ten seconds.">
      <${CurlButton} path=${PATH} />
    <//>
    ${error && html`<${ErrorState} error=${error} onRetry=${reload} compact />`}
    ${!data && !error && html`<${Skeleton} />`}
    ${data?.dashboard && html`<p>Alarms and metrics: <a href=${data.dashboard} rel="noreferrer" target="_blank">the dashboard in CloudWatch</a></p>`}
    ${data && html`<${Figures} health=${data} />
      <${Declarations} rows=${data.declarations} reason=${data.unknown.declarations} onChange=${reload} />
      <p class="freshness muted small">Read at <${Time} value=${data.at} /></p>`}
    ${config.value?.demo && html`<${Demo} />`}
  </div>`;
}

/** @param {{health: any}} props */
function Figures({ health }) {
  const figures = [
    ["Age of the oldest total to roll up", renderSeconds(health.rollup_lag_seconds), ""],
    ["Records set aside", renderNumber(health.open_claims), ""],
    ["Discarded batches", renderNumber(health.discarded), ""],
    ["Lost records of the stream", health.gap ? health.gap.reasons.join("; ") : "none", health.gap ? "run daicho recover" : ""],
    ["Since the last audit", renderSeconds(health.audit_age_seconds), health.unknown.audit_age_seconds],
  ];
  return html`<dl class="details" aria-label="Figures">
    ${figures.map(
      ([name, value, reason]) => html`<div key=${name}>
        <dt>${name}</dt>
        <dd><span class="number">${value}</span> ${reason && html`<span class="muted">${reason}</span>`}</dd>
      </div>`,
    )}
  </dl>`;
}

/** @param {number | null} seconds */
function renderSeconds(seconds) {
  if (seconds === null || seconds === undefined) return "unknown";
  if (seconds < 120) return `${renderNumber(Math.round(seconds * 10) / 10)} s`;
  if (seconds < 7_200) return `${renderNumber(Math.round(seconds / 60))} min`;
  return `${renderNumber(Math.round(seconds / 3_600))} h`;
}

/** @param {{rows: any[] | null, reason?: string, onChange: () => void}} props */
function Declarations({ rows, reason, onChange }) {
  const building = (rows ?? []).filter(({ state, rebuild }) => rebuild || state !== "complete");
  return html`<section>
    <h2>Declarations</h2>
    ${rows === null && html`<p class="muted">Unknown: ${reason}</p>`}
    ${rows && html`<p>${rows.length - building.length} of ${rows.length} include all items.</p>`}
    ${building.length > 0 &&
    html`<table class="plain">
      <thead><tr><th scope="col">Declaration</th><th scope="col">State</th><th scope="col">Rebuild</th></tr></thead>
      <tbody>
        ${building.map(
          (row) => html`<tr key=${`${row.entity} ${row.name} ${row.instance}`}>
            <th scope="row"><bdi>${row.entity}.${row.name}</bdi> <span class="muted">since ${row.instance}</span></th>
            <td><span class="badge">${row.state}</span></td>
            <td>${row.rebuild ? html`<${Rebuild} rebuild=${row.rebuild} onChange=${onChange} />` : "–"}</td>
          </tr>`,
        )}
      </tbody>
    </table>`}
  </section>`;
}

/** @param {{rebuild: any, onChange: () => void}} props */
function Rebuild({ rebuild, onChange }) {
  const change = async (/** @type {"pause" | "resume"} */ action) => {
    try {
      await request(`/ops/rebuilds/${encodeURIComponent(rebuild.job)}/${action}`, { method: "POST" });
      showToast(action === "pause" ? "The rebuild pauses." : "The rebuild goes on.");
    } catch (/** @type {any} */ problem) {
      showToast(problem.message, "failed");
    }
    onChange();
  };
  return html`<progress max=${rebuild.total ?? 1} value=${rebuild.total ? rebuild.done : undefined} aria-label="Rebuild"></progress>
    <span class="number"> ${renderNumber(rebuild.done)}${rebuild.total && ` of ${renderNumber(rebuild.total)}`}</span>
    <span class="badge">${rebuild.state}</span>
    <button type="button" class="button small" onClick=${() => change(rebuild.paused ? "resume" : "pause")}>
      ${rebuild.paused ? "Resume" : "Pause"}
    </button>`;
}

/** At stage local: a record that fails, to see how it is found and redriven. */
function Demo() {
  const change = async (/** @type {boolean} */ isOn) => {
    const text = "The projector refuses the records of votes, until you remove the fault.";
    if (isOn && !(await ask({ title: "Poison votes?", text, confirm: "Poison votes", isDangerous: true }))) return;
    try {
      await request(POISON, { method: isOn ? "POST" : "DELETE" });
      showToast(isOn ? "Votes fail from now on." : "Votes are counted again.");
    } catch (/** @type {any} */ problem) {
      showToast(problem.message, "failed");
    }
  };
  return html`<section>
    <h2>Try it out</h2>
    <p>On this machine only: let records fail, vote, find the vote in <a href="#/ops/quarantine">Quarantine</a>, and redrive it.</p>
    <div class="actions">
      <button type="button" class="button" onClick=${() => change(true)}><${Icon} name="warning" />Poison votes</button>
      <button type="button" class="button" onClick=${() => change(false)}>Remove the fault</button>
    </div>
  </section>`;
}
