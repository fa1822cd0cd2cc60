/** The versions of an item, and the sections of a split one. */

import { useState } from "preact/hooks";
import { html } from "console/html.js";
import { fillRequest, findQuery } from "console/catalog.js";
import { parseJson } from "console/format.js";
import { useLoad, usePages } from "console/load.js";
import { makeKey, request } from "console/request.js";
import { ask } from "console/parts/dialog.js";
import { Empty, ErrorState, Skeleton } from "console/parts/states.js";
import { showToast } from "console/parts/status.js";
import { JsonView, Time } from "console/parts/value.js";

const PAGE = 50;

/** @typedef {{entity: string, item: any, values: Record<string, string>, onChange: () => void}} Props */

/** @param {Props} props */
export function Versions({ entity, item, values, onChange }) {
  const query = findQuery(entity, "versions");
  const target = query && fillRequest(query, { ...values, limit: PAGE });
  const list = usePages(
    target
      ? async (cursor, signal) => (await request(target.path, { query: { ...target.query, cursor }, signal })).data
      : null,
    [target?.path, item.version],
  );
  const restore = findQuery(entity, "restore");
  const restoreVersion = async (/** @type {number} */ version) => {
    const filled = restore && fillRequest(restore, { ...values, version });
    const isSure = await ask({
      title: `Restore version ${version}?`,
      text: "Its content becomes the newest version. No version is lost.",
      confirm: "Restore",
    });
    if (!filled || !isSure) return;
    try {
      await request(filled.path, { method: "POST", query: filled.query, headers: { "If-Match": `"${item.version}"` }, key: makeKey() });
      showToast(`Version ${version} restored`);
      onChange();
    } catch (/** @type {any} */ error) {
      showToast(error.message, "failed");
    }
  };
  if (list.error) return html`<${ErrorState} error=${list.error} onRetry=${list.retry} />`;
  if (!list.rows.length) return list.isLoading ? html`<${Skeleton} rows=${3} />` : html`<${Empty} title="There are no versions" />`;
  return html`<ol class="versions">
      ${list.rows.map(
        (version, place) => html`<li key=${version.version}>
          <details>
            <summary>
              <b>Version ${version.version}</b>
              ${version.versioned_at && html`<${Time} value=${version.versioned_at} />`}
              <span class="muted">${describeDifference(version, list.rows[place + 1])}</span>
            </summary>
            <${JsonView} value=${version} />
            ${restore && version.version !== item.version &&
            html`<button type="button" class="button" onClick=${() => restoreVersion(version.version)}>Restore this version</button>`}
          </details>
        </li>`,
      )}
    </ol>
    ${list.cursor && html`<button type="button" class="button" disabled=${list.isLoading} onClick=${list.loadMore}>Older versions</button>`}`;
}

/**
 * The fields that a version changed.
 * @param {any} version
 * @param {any} earlier
 */
function describeDifference(version, earlier) {
  if (!earlier) return "";
  const ignored = ["version", "versioned_at"];
  const names = Object.keys(version).filter(
    (name) => !ignored.includes(name) && JSON.stringify(version[name]) !== JSON.stringify(earlier[name]),
  );
  return names.length ? `changed ${names.join(", ")}` : "changed nothing";
}

/** @param {Props} props */
export function Sections({ entity, item, values, onChange }) {
  const field = Object.keys(item).find((name) => JSON.stringify(item[name])?.startsWith("{"));
  const names = field ? Object.keys(item[field]) : [];
  const [open, setOpen] = useState(/** @type {string | null} */ (null));
  const [added, setAdded] = useState("");
  const canWrite = Boolean(findQuery(entity, "replace_section"));
  return html`<div class="sections">
    ${!names.length && html`<${Empty} title="There are no sections" />`}
    <ul class="ways boxed">
      ${names.map(
        (name) => html`<li key=${name}>
          <button type="button" aria-expanded=${open === name} onClick=${() => setOpen(open === name ? null : name)}><bdi>${name}</bdi></button>
          ${open === name && html`<${Section} key=${name} entity=${entity} values=${values} name=${name} onChange=${onChange} />`}
        </li>`,
      )}
    </ul>
    ${canWrite &&
    html`<form
      class="inline"
      onSubmit=${async (/** @type {Event} */ event) => {
        event.preventDefault();
        const target = fillRequest(/** @type {any} */ (findQuery(entity, "replace_section")), { ...values, section: added });
        if (!target) return;
        try {
          await request(target.path, { method: "PUT", query: target.query, body: {}, headers: {}, key: makeKey() });
          setAdded("");
          onChange();
        } catch (/** @type {any} */ error) {
          showToast(error.message, "failed");
        }
      }}
    >
      <label>New section <input dir="auto" value=${added} onInput=${(/** @type {any} */ event) => setAdded(event.currentTarget.value)} /></label>
      <button class="button" disabled=${!added || names.includes(added)}>Add</button>
    </form>`}
  </div>`;
}

/** @param {{entity: string, values: Record<string, string>, name: string, onChange: () => void}} props */
function Section({ entity, values, name, onChange }) {
  const [get, put, remove] = ["section", "replace_section", "delete_section"].map((kind) => findQuery(entity, kind));
  const filled = get && fillRequest(get, { ...values, section: name });
  const loaded = useLoad(async (signal) => {
    if (!filled) throw new Error("This section has no address.");
    return request(filled.path, { query: filled.query, signal });
  }, [filled?.path]);
  const [text, setText] = useState(/** @type {string | null} */ (null));
  const [error, setError] = useState(/** @type {any} */ (null));
  const etag = loaded.data?.etag;
  const write = async (/** @type {any} */ query, /** @type {any} */ body) => {
    setError(null);
    const target = fillRequest(query, { ...values, section: name });
    try {
      const content = body === undefined ? undefined : parseJson(body);
      await request(target?.path ?? "", { method: query.operation.method, query: target?.query, body: content, headers: etag ? { "If-Match": etag } : {}, key: makeKey() });
      showToast(body === undefined ? "Section removed" : "Section saved");
      setText(null);
      onChange();
      loaded.reload();
    } catch (/** @type {any} */ problem) {
      setError(problem instanceof SyntaxError ? { title: "This is no JSON", message: problem.message } : problem);
    }
  };
  if (loaded.error) return html`<${ErrorState} error=${loaded.error} onRetry=${loaded.reload} compact />`;
  if (!loaded.data) return html`<${Skeleton} rows=${2} />`;
  const stored = JSON.stringify(loaded.data.data, null, 2);
  return html`<div class="section">
    ${error && html`<${ErrorState} error=${error} compact />`}
    ${text === null
      ? html`<${JsonView} value=${loaded.data.data} />`
      : html`<textarea class="mono" dir="auto" rows="10" aria-label=${`Section ${name}`} value=${text} onInput=${(/** @type {any} */ event) => setText(event.currentTarget.value)} />`}
    <footer>
      ${put && text === null && html`<button type="button" class="button" onClick=${() => setText(stored)}>Edit</button>`}
      ${text !== null &&
      html`<button type="button" class="button" onClick=${() => setText(null)}>Cancel</button>
        <button type="button" class="button primary" onClick=${() => write(put, text)}>Save</button>`}
      ${remove && text === null &&
      html`<button
        type="button"
        class="button"
        onClick=${async () => {
          const isSure = await ask({ title: "Remove this section?", text: name, confirm: "Remove", isDangerous: true });
          if (isSure) await write(remove, undefined);
        }}
      >
        Remove
      </button>`}
    </footer>
  </div>`;
}
