/** A list of items with its tools: columns, saved views, and what can be done with selected items. */

import { useMemo, useState } from "preact/hooks";
import { html } from "console/html.js";
import { findQuery, listKeyNames, makeItemHash, renderName, resolveItem } from "console/catalog.js";
import { renderCsv, saveCsv } from "console/csv.js";
import { navigate } from "console/router.js";
import { listViews, removeView, saveView } from "console/views.js";
import { CopyButton } from "console/parts/copy.js";
import { CurlButton } from "console/parts/curl.js";
import { Icon } from "console/parts/icons.js";
import { Menu } from "console/parts/menu.js";
import { Freshness } from "console/parts/page.js";
import { showToast } from "console/parts/status.js";
import { PagedTable } from "console/parts/table.js";

/**
 * @typedef {import("console/catalog.js").Query} Query
 * @typedef {import("console/parts/table.js").Column} Column
 */

/**
 * @param {{label: string, query: Query, list: any, filled: any, status: any, keyword?: string, empty: any,
 *   instead?: any, chosen: string, listColumns: (names?: string[]) => Column[], makeAddress: (columns: string) => string}} props
 *   `list`: of `usePages`; `chosen`: columns of the address, with commas; `instead`: shown in place of the table
 */
export function ItemList({ label, query, list, filled, status, keyword, empty, instead, chosen, listColumns, makeAddress }) {
  const { rows } = list;
  const fields = Object.keys(resolveItem(query.operation).properties ?? {});
  const columns = useMemo(() => {
    const names = chosen.split(",").filter((name) => fields.includes(name));
    return listColumns(names.length ? [...new Set(names)] : undefined);
  }, [query, chosen]);
  const [marked, setMarked] = useState(/** @type {Set<any>} */ (new Set()));
  // Items that are read again are others: what was selected may have changed.
  const selected = useMemo(() => rows.filter((/** @type {any} */ row) => marked.has(row)), [rows, marked]);
  const names = columns.map(({ name }) => name);
  const select = (/** @type {any[]} */ changed, /** @type {boolean} */ isSelected) =>
    setMarked((before) => new Set(isSelected ? [...before, ...changed] : [...before].filter((row) => !changed.includes(row))));
  return html`
    <div class="list-line">
      ${status}
      ${filled &&
      html`<${ColumnsMenu} fields=${fields} names=${names} isChosen=${chosen !== ""} onChange=${(/** @type {string[]} */ to) => navigate(makeAddress(to.join()), { replace: true })} />
        <${ViewsMenu} list=${`${query.operation.id} ${query.name}`} />
        <${CurlButton} path=${filled.path} query=${filled.query} />`}
    </div>
    ${selected.length > 0 &&
    html`<div class="list-line selection" role="group" aria-label="Selected items">
      <p class="number" role="status">${selected.length} selected</p>
      <${CopyButton} label="Copy ids" text=${() => selected.map((/** @type {any} */ row) => renderId(query.entity, row)).join("\n")} />
      <${CopyButton} label="Copy JSON" text=${() => JSON.stringify(selected, null, 2)} />
      <button type="button" class="button small" onClick=${() => saveCsv(`${query.entity ?? query.operation.id}.csv`, renderCsv(names, selected))}>
        <${Icon} name="down" />CSV
      </button>
      <button type="button" class="button small quiet" onClick=${() => setMarked(new Set())}>Clear</button>
    </div>`}
    ${instead ||
    html`<${PagedTable}
      label=${label}
      columns=${columns}
      list=${list}
      keyword=${keyword}
      selected=${marked}
      onSelect=${select}
      getHref=${(/** @type {any} */ row) => makeItemHash(query.entity, row)}
      empty=${empty}
    />`}
    <${Freshness} at=${list.at} kind="list" />
  `;
}

/**
 * The key of an item as text; its parts are joined by slashes, as in the address of the API.
 * @param {string | null} entity
 * @param {Record<string, any>} item
 */
export function renderId(entity, item) {
  const get = findQuery(entity ?? "", "get");
  const names = get ? listKeyNames(get) : ["id"];
  return names.map((name) => String(item[name] ?? "")).join("/");
}

/** @param {{fields: string[], names: string[], isChosen: boolean, onChange: (names: string[]) => void}} props */
function ColumnsMenu({ fields, names, isChosen, onChange }) {
  return html`<${Menu} label="Columns" icon="table">
    ${fields.map((name) => {
      const isShown = names.includes(name);
      return html`<label class="switch" key=${name}
        ><input
          type="checkbox"
          checked=${isShown}
          disabled=${isShown && names.length === 1}
          onChange=${() => onChange(isShown ? names.filter((one) => one !== name) : [...names, name])}
        />${renderName(name)}</label
      >`;
    })}
    <button type="button" class="button small" disabled=${!isChosen} onClick=${() => onChange([])}>Default columns</button>
  <//>`;
}

/** @param {{list: string}} props */
function ViewsMenu({ list }) {
  const [name, setName] = useState("");
  const views = listViews(list);
  const save = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!name.trim()) return;
    const isKept = saveView({ name: name.trim(), list, hash: location.hash });
    showToast(isKept ? "View saved in this browser" : "The browser keeps no more views. Copy the link instead.", isKept ? "done" : "failed");
    if (isKept) setName("");
  };
  const close = (/** @type {any} */ event) => event.currentTarget.closest("[popover]").hidePopover();
  return html`<${Menu} label="Views" icon="check">
    ${views.length > 0 &&
    html`<ul aria-label="Saved views">
      ${views.map(
        (view) => html`<li key=${view.name}>
          <a href=${view.hash} onClick=${close}><bdi>${view.name}</bdi></a>
          <button type="button" class="button quiet square" aria-label=${`Remove the view ${view.name}`} onClick=${() => removeView(view)}>
            <${Icon} name="close" />
          </button>
        </li>`,
      )}
    </ul>`}
    <form class="inline" onSubmit=${save}>
      <label>Save filters and columns as<input maxlength="60" value=${name} autocomplete="off" onInput=${(/** @type {any} */ event) => setName(event.currentTarget.value)} /></label>
      <button type="submit" class="button small">Save</button>
    </form>
    <${CopyButton} label="Copy link" text=${() => location.href} />
  <//>`;
}
