/** Records that were set aside: as a list, and one with both images; redrive of one, some or all. */

import { useState } from "preact/hooks";
import { html } from "console/html.js";
import { useLoad, usePages } from "console/load.js";
import { request } from "console/request.js";
import { makeHash, navigate } from "console/router.js";
import { renderNumber } from "console/format.js";
import { CurlButton } from "console/parts/curl.js";
import { ask } from "console/parts/dialog.js";
import { Icon } from "console/parts/icons.js";
import { PageHeader } from "console/parts/page.js";
import { Empty, ErrorState, Skeleton } from "console/parts/states.js";
import { showToast } from "console/parts/status.js";
import { PagedTable } from "console/parts/table.js";
import { FullValue, Time } from "console/parts/value.js";

const PATH = "/ops/quarantine";
const PAGE = 50;
const TRAIL = [{ text: "Quarantine", href: "#/ops/quarantine" }];

/** @param {{route: import("console/router.js").Route}} props */
export default function QuarantinePage({ route }) {
  const id = route.path[2];
  return id ? html`<${OneRecord} key=${id} id=${id} />` : html`<${Records} />`;
}

function Records() {
  const [chosen, setChosen] = useState(/** @type {Set<string>} */ (new Set()));
  const list = usePages(async (cursor, signal) => (await request(PATH, { query: { limit: PAGE, cursor }, signal })).data, []);
  const toggle = (/** @type {string} */ id) => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    setChosen(next);
  };
  const columns = [
    {
      name: "chosen",
      title: "Choose",
      width: "4.5rem",
      // The claims of one record that was discarded with its batch are redriven with everything.
      render: (/** @type {any} */ row) =>
        row.seq &&
        html`<input type="checkbox" aria-label=${`Choose ${row.id}`} checked=${chosen.has(row.id)} onChange=${() => toggle(row.id)} />`,
    },
    {
      name: "entity",
      title: "Record",
      width: "minmax(8rem, 1fr)",
      render: (/** @type {any} */ row) => html`<a href=${makeHash(["ops", "quarantine", row.id])}><bdi>${row.entity ?? "Unknown"}</bdi></a>`,
    },
    { name: "tenant", title: "Tenant", width: "8rem" },
    { name: "error", title: "Error", width: "minmax(11rem, 2fr)", render: (/** @type {any} */ row) => html`<bdi>${row.error.type}: ${row.error.message}</bdi>` },
    { name: "state", title: "State", width: "7rem" },
    { name: "at", title: "Set aside", width: "11rem" },
  ];
  const some = [...chosen];
  return html`<div class="page full">
    <${PageHeader} title="Quarantine" about="Records that could not be applied. Nothing is lost: correct the cause, and redrive them.">
      <${CurlButton} path=${PATH} query=${{ limit: PAGE }} />
      <a class="button" href="#/ops/redrives">Redrives</a>
      <button type="button" class="button" disabled=${!some.length} onClick=${() => dismiss(some)}>Dismiss ${some.length || ""} chosen</button>
      <button type="button" class="button" disabled=${!some.length} onClick=${() => redrive(some)}>Redrive ${some.length || ""} chosen</button>
      <button type="button" class="button primary" disabled=${!list.rows.length} onClick=${() => redrive(null)}><${Icon} name="refresh" />Redrive all</button>
    <//>
    <${PagedTable}
      label="Records that were set aside"
      columns=${columns}
      list=${list}
      empty=${html`<${Empty} title="Nothing is set aside">Each record of the stream was applied.<//>`}
    />
  </div>`;
}

/**
 * Redrive records after the user has confirmed their number.
 * @param {string[] | null} claims null: everything that was set aside
 */
async function redrive(claims) {
  try {
    const { data } = await request("/ops/redrives/preview", { method: "POST", body: { claims } });
    const more = data.added.length;
    const text =
      `${renderNumber(data.count)} ${data.count === 1 ? "record is" : "records are"} applied in the order in which they came.` +
      (more ? ` With them come ${more} older ones of the same items, which have to be applied first.` : "");
    const confirm = `Redrive ${renderNumber(data.count)}`;
    if (!(await ask({ title: claims ? "Redrive the chosen records?" : "Redrive everything?", text, confirm }))) return;
    const started = await request("/ops/redrives", { method: "POST", body: { claims, count: data.count } });
    navigate(makeHash(["ops", "redrives", started.data.id]));
  } catch (/** @type {any} */ problem) {
    showToast(problem.message, "failed");
  }
}

/**
 * Leave records out that no code can compute, after the user has seen which items and confirmed.
 * @param {string[]} claims
 */
async function dismiss(claims) {
  const body = { claims, action: "dismiss" };
  try {
    const { data } = await request("/ops/redrives/preview", { method: "POST", body });
    const items = data.items.map((/** @type {any} */ each) => {
      const empty = each.becomes_empty ? ", which is in no list and no figure until it is written again" : "";
      return `${each.item.join(" / ")}${empty}`;
    });
    const recount = [...new Set(data.items.flatMap((/** @type {any} */ each) => each.recount))];
    const text =
      `What no code can compute is left out for good. Records of: ${items.join("; ")}.` +
      (recount.length ? ` Figures have to be recounted afterwards: ${recount.join(", ")}.` : "");
    const confirm = `Dismiss ${renderNumber(data.count)}`;
    if (!(await ask({ title: "Dismiss the chosen records?", text, confirm, isDangerous: true }))) return;
    const started = await request("/ops/redrives", { method: "POST", body: { ...body, count: data.count } });
    navigate(makeHash(["ops", "redrives", started.data.id]));
  } catch (/** @type {any} */ problem) {
    showToast(problem.message, "failed");
  }
}

/** @param {{id: string}} props */
function OneRecord({ id }) {
  const path = `${PATH}/${encodeURIComponent(id)}`;
  const { data, error, reload } = useLoad(async (signal) => (await request(path, { signal })).data, [id]);
  if (error) return html`<div class="page"><${PageHeader} title="Record" trail=${TRAIL} /><${ErrorState} error=${error} onRetry=${reload} /></div>`;
  if (!data) return html`<div class="page"><${PageHeader} title="Record" trail=${TRAIL} /><${Skeleton} /></div>`;
  return html`<div class="page">
    <${PageHeader} title=${data.entity ?? "Record"} trail=${TRAIL}>
      <${CurlButton} path=${path} />
      ${data.seq && html`<button type="button" class="button" onClick=${() => dismiss([id])}>Dismiss</button>`}
      ${data.seq && html`<button type="button" class="button primary" onClick=${() => redrive([id])}><${Icon} name="refresh" />Redrive</button>`}
    <//>
    <dl class="details">
      <div><dt>Error</dt><dd><bdi>${data.error.type}: ${data.error.message}</bdi></dd></div>
      <div><dt>State</dt><dd><span class="badge bad">${data.state}</span> ${data.phase}</dd></div>
      <div><dt>Tenant</dt><dd><bdi>${data.tenant ?? "–"}</bdi></dd></div>
      <div><dt>Item</dt><dd><code dir="auto">${data.item?.join(" / ") ?? "–"}</code></dd></div>
      <div><dt>Stream shard</dt><dd><code>${data.shard}</code></dd></div>
      <div><dt>Set aside</dt><dd><${Time} value=${data.at} /></dd></div>
    </dl>
    <h2>Images</h2>
    <${Images} before=${data.old_image} after=${data.new_image} />
  </div>`;
}

/** Both images of an item; what differs is marked. @param {{before: any, after: any}} props */
function Images({ before, after }) {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])].sort();
  if (!names.length) return html`<p class="muted">The record has no image that can be read.</p>`;
  return html`<table class="plain">
    <thead><tr><th scope="col">Attribute</th><th scope="col">Before</th><th scope="col">After</th></tr></thead>
    <tbody>
      ${names.map((name) => {
        const [old, now] = [before?.[name], after?.[name]];
        const isChanged = JSON.stringify(old) !== JSON.stringify(now);
        return html`<tr key=${name}>
          <th scope="row"><code dir="auto">${name}</code> ${isChanged && html`<span class="badge bad">differs</span>`}</th>
          <td>${old === undefined ? html`<span class="muted">–</span>` : html`<${FullValue} value=${old} />`}</td>
          <td>${now === undefined ? html`<span class="muted">–</span>` : html`<${FullValue} value=${now} />`}</td>
        </tr>`;
      })}
    </tbody>
  </table>`;
}
