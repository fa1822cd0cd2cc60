/**
 * Editing an item. It is written on condition of its ETag; if somebody else was faster, both sides
 * are shown and each field is chosen. What was typed is kept through errors and new logins.
 */

import { useState } from "preact/hooks";
import { html } from "console/html.js";
import { fillRequest, resolve } from "console/catalog.js";
import { makeKey, request } from "console/request.js";
import { useLeaveGuard } from "console/parts/dialog.js";
import { Fields, listFields, readFields, renderDraft } from "console/parts/fields.js";
import { ErrorState } from "console/parts/states.js";
import { showToast } from "console/parts/status.js";
import { Conflict } from "console/pages/item-conflict.js";

/**
 * @typedef {import("console/catalog.js").Query} Query
 * @typedef {import("console/parts/fields.js").Draft} Draft
 */

const CONFLICTS = [409, 412];

/**
 * @param {{query: Query, get: Query, values: Record<string, string>,
 *   stored: import("console/request.js").Answer, onDone: () => void, onCancel: () => void}} props
 *   `query`: a change or a replacement
 */
export function Editor({ query, get, values, stored, onDone, onCancel }) {
  const body = resolve(query.operation.body);
  const [fields] = useState(() => listFields(body, stored.data));
  const [base, setBase] = useState(stored); // what the draft began with
  const [draft, setDraft] = useState(/** @type {Draft} */ ({}));
  const [other, setOther] = useState(/** @type {import("console/request.js").Answer | null} */ (null));
  const [error, setError] = useState(/** @type {any} */ (null));
  const [isSaving, setSaving] = useState(false);
  const [key, setKey] = useState(makeKey);
  const changed = fields.filter(({ name, schema }) => name in draft && draft[name] !== renderDraft(base.data[name], schema));

  const endGuard = useLeaveGuard(changed.length > 0);

  /** @param {Draft} typed @param {import("console/request.js").Answer} current */
  const save = async (typed, current) => {
    setError(null);
    const target = fillRequest(query, values);
    if (!target) return;
    setSaving(true);
    try {
      await request(target.path, {
        method: query.operation.method,
        query: target.query,
        body: readFields(fields, typed, current.data, { isWhole: query.kind === "replace" }),
        headers: current.etag ? { "If-Match": current.etag } : {},
        key,
      });
      endGuard();
      showToast("Saved");
      onDone();
    } catch (/** @type {any} */ problem) {
      if (problem.status !== 0) setKey(makeKey()); // it was answered: the next is another request
      if (CONFLICTS.includes(problem.status)) await showConflict(problem);
      else setError(problem);
    } finally {
      setSaving(false);
    }
  };

  const showConflict = async (/** @type {any} */ problem) => {
    const target = fillRequest(get, values);
    try {
      const now = target && (await request(target.path, { query: target.query }));
      if (now && now.etag !== base.etag) setOther(now);
      else setError(problem); // refused for another reason: a limit, a value that is taken
    } catch (unread) {
      setError(unread);
    }
  };

  if (other) {
    return html`<${Conflict}
      fields=${fields}
      base=${base.data}
      mine=${draft}
      stored=${other.data}
      onCancel=${() => setOther(null)}
      onChoose=${(/** @type {Draft} */ chosen) => {
        setDraft(chosen);
        setBase(other);
        setOther(null);
        void save(chosen, other);
      }}
    />`;
  }
  return html`<form
    class="form"
    novalidate
    onSubmit=${(/** @type {Event} */ event) => {
      event.preventDefault();
      if (!isSaving) void save(draft, base);
    }}
  >
    ${error && html`<${ErrorState} error=${error} onRetry=${error.status === undefined ? undefined : () => save(draft, base)} compact />`}
    <${Fields} fields=${fields} draft=${draft} stored=${base.data} required=${body.required} error=${error} setDraft=${setDraft} />
    <footer class="form-foot">
      <span class="muted small">${changed.length ? `${changed.length} changed` : "Nothing changed"}</span>
      <button type="button" class="button" onClick=${onCancel}>Cancel</button>
      <button type="submit" class="button primary" disabled=${!changed.length || isSaving}>${isSaving ? "Saving…" : "Save"}</button>
    </footer>
  </form>`;
}
