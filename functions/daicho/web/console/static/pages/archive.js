/** The archive: expired items by entity and time of deletion, and jobs that restore them. */

import { useState } from "preact/hooks";
import { html } from "console/html.js";
import { findOperation, renderPlural, resolve } from "console/catalog.js";
import { usePages } from "console/load.js";
import { request } from "console/request.js";
import { makeHash, navigate } from "console/router.js";
import { CurlButton } from "console/parts/curl.js";
import { ask, Dialog } from "console/parts/dialog.js";
import { PageHeader } from "console/parts/page.js";
import { Empty } from "console/parts/states.js";
import { showToast } from "console/parts/status.js";
import { PagedTable } from "console/parts/table.js";
import { FullValue, Time } from "console/parts/value.js";

const PATH = "/archive";
const RESTORATIONS = "/archive/restorations";
const PAGE = 100;
const DAY_MS = 24 * 3_600_000;
const DAYS_AT_FIRST = 7;

/** @param {{route: import("console/router.js").Route}} props */
export default function ArchivePage({ route }) {
  const entities = listArchived();
  const entity = route.query.get("entity") ?? entities[0];
  const first = route.query.get("since") ?? renderDay(Date.now() - DAYS_AT_FIRST * DAY_MS);
  const last = route.query.get("until") ?? renderDay(Date.now());
  const [opened, setOpened] = useState(/** @type {any} */ (null));
  const [overNewer, setOverNewer] = useState(false);
  const isRange = first <= last;
  const selected = { entity, since: `${first}T00:00:00Z`, until: isRange ? renderNextDay(last) : "" };
  const list = usePages(
    isRange ? async (cursor, signal) => (await request(PATH, { query: { ...selected, limit: PAGE, cursor }, signal })).data : null,
    [entity, first, last],
  );
  const go = (/** @type {Record<string, string>} */ changed) =>
    navigate(makeHash(["archive"], { entity, since: first, until: last, ...changed }));

  /** @param {Record<string, any>} more */
  const restore = async (more) => {
    const body = { ...selected, over_newer: overNewer, ...more };
    const text = more.key
      ? "The item is written as it was, and lives as long as a new one."
      : `All ${renderPlural(entity)} that were deleted from ${first} to ${last} (UTC). Each lives as long as a new one.`;
    const replaces = overNewer ? " Live items with the same key are replaced." : " Live items stay as they are.";
    const question = { title: more.key ? "Restore this item?" : "Restore these items?", text: text + replaces, confirm: "Restore", isDangerous: overNewer };
    if (!more.dry_run && !(await ask(question))) return;
    try {
      const job = (await request(RESTORATIONS, { method: "POST", body })).data;
      navigate(makeHash(["jobs", job.id]));
    } catch (/** @type {any} */ problem) {
      showToast(problem.message, "failed");
    }
  };

  return html`<div class="page full">
    <${PageHeader} title="Archive" about="Items that have expired, by the day of their deletion (UTC).">
      <${CurlButton} path=${PATH} query=${selected} />
    <//>
    <form class="filters" aria-label="Selection" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
      <label class="field"><span>Entity</span>
        <select value=${entity} onChange=${(/** @type {any} */ event) => go({ entity: event.currentTarget.value })}>
          ${entities.map((name) => html`<option key=${name} value=${name}>${renderPlural(name)}</option>`)}
        </select>
      </label>
      <label class="field"><span>From</span>
        <input type="date" required value=${first} onChange=${(/** @type {any} */ event) => event.currentTarget.value && go({ since: event.currentTarget.value })} />
      </label>
      <label class="field"><span>To</span>
        <input type="date" required value=${last} onChange=${(/** @type {any} */ event) => event.currentTarget.value && go({ until: event.currentTarget.value })} />
      </label>
      <label class="switch"><input type="checkbox" checked=${overNewer} onChange=${(/** @type {any} */ event) => setOverNewer(event.currentTarget.checked)} /><span>Replace live items</span></label>
      <button type="button" class="button" disabled=${!list.rows.length} onClick=${() => restore({ dry_run: true })}>Try a restore</button>
      <button type="button" class="button primary" disabled=${!list.rows.length} onClick=${() => restore({})}>Restore all</button>
    </form>
    <${PagedTable}
      label="Archived items"
      columns=${makeColumns(list.rows, setOpened)}
      list=${list}
      empty=${html`<${Empty} title=${isRange ? `No ${renderPlural(entity)} expired in these days` : "The first day is after the last one"} />`}
    />
    ${opened &&
    html`<${Dialog} title=${entity} onClose=${() => setOpened(null)} wide>
      <dl class="details">
        <div><dt>Deleted</dt><dd><${Time} value=${opened.deleted_at} /></dd></div>
        ${Object.entries(opened.item ?? {}).map(([name, value]) => html`<div key=${name}><dt><bdi>${name}</bdi></dt><dd><${FullValue} value=${value} /></dd></div>`)}
      </dl>
      ${!opened.item && html`<p>You may not read this item, or the declarations of today cannot read it.</p>`}
      <footer>
        <button type="button" class="button" onClick=${() => setOpened(null)}>Close</button>
        <button
          type="button"
          class="button primary"
          onClick=${() => {
            setOpened(null);
            void restore({ key: opened.key });
          }}
        >Restore this item</button>
      </footer>
    <//>`}
  </div>`;
}

/** The entities whose items are archived, by the description of the API. */
function listArchived() {
  const parameter = findOperation("list_archived_items")?.parameters.find(({ name }) => name === "entity");
  const schema = resolve(parameter?.schema);
  return /** @type {string[]} */ (schema.enum ?? (schema.const ? [schema.const] : []));
}

/** @param {any[]} rows @param {(row: any) => void} open */
function makeColumns(rows, open) {
  const fields = Object.keys(rows.find(({ item }) => item)?.item ?? {});
  const shown = fields.filter((name) => name !== "version" && name !== "created_at").slice(0, 6);
  return [
    {
      name: "deleted_at",
      title: "Deleted",
      width: "12rem",
      render: (/** @type {any} */ row) => html`<button type="button" class="button quiet small" onClick=${() => open(row)}><${Time} value=${row.deleted_at} /></button>`,
    },
    ...shown.map((name) => ({
      name,
      title: name,
      width: "minmax(8rem, 1fr)",
      render: (/** @type {any} */ row) => html`<bdi>${renderShort(row.item?.[name])}</bdi>`,
    })),
  ];
}

/** @param {any} value */
function renderShort(value) {
  if (value === null || value === undefined) return "–";
  return (typeof value === "object" ? JSON.stringify(value) : String(value)).slice(0, 120);
}

/** @param {number} at */
function renderDay(at) {
  return new Date(at).toISOString().slice(0, 10);
}

/** The beginning of the next day. @param {string} day */
function renderNextDay(day) {
  return `${renderDay(Date.parse(`${day}T00:00:00Z`) + DAY_MS)}T00:00:00Z`;
}
