/**
 * Editing an item. It is written on condition of its ETag; if somebody else was faster, both sides
 * are shown and each field is chosen. What was typed is kept through errors and new logins.
 */

import { useEffect, useState } from "preact/hooks";
import { html } from "console/html.js";
import { fillRequest, resolve } from "console/catalog.js";
import { makeKey, request } from "console/request.js";
import { leaveGuard } from "console/router.js";
import { ask } from "console/parts/dialog.js";
import { Field, readDraft, renderDraft } from "console/parts/fields.js";
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
  const fields = Object.entries(body.properties ?? {}).map(([name, schema]) => ({ name, schema: resolve(schema) }));
  const [base, setBase] = useState(stored); // what the draft began with
  const [draft, setDraft] = useState(/** @type {Draft} */ ({}));
  const [other, setOther] = useState(/** @type {import("console/request.js").Answer | null} */ (null));
  const [error, setError] = useState(/** @type {any} */ (null));
  const [isSaving, setSaving] = useState(false);
  const [key, setKey] = useState(makeKey);
  const changed = fields.filter(({ name, schema }) => name in draft && draft[name] !== renderDraft(base.data[name], schema));

  useEffect(() => {
    leaveGuard.ask = changed.length
      ? () => ask({ title: "Leave without saving?", text: "What you typed is not saved.", confirm: "Leave", cancel: "Stay", isDangerous: true })
      : null;
    return () => {
      leaveGuard.ask = null;
    };
  }, [changed.length]);

  const problems = new Map((error?.errors ?? []).map((/** @type {any} */ one) => [one.field.split(".")[0], one.message]));

  /** @param {Draft} typed @param {import("console/request.js").Answer} current */
  const save = async (typed, current) => {
    setError(null);
    const target = fillRequest(query, values);
    let content;
    try {
      content = readFields(fields, typed, current.data, query.kind === "replace");
    } catch (/** @type {any} */ problem) {
      setError({ title: "This cannot be sent", message: problem.message, errors: problem.errors });
      return;
    }
    if (!target) return;
    setSaving(true);
    try {
      await request(target.path, {
        method: query.operation.method,
        query: target.query,
        body: content,
        headers: current.etag ? { "If-Match": current.etag } : {},
        key,
      });
      leaveGuard.ask = null;
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
    ${fields.map(
      ({ name, schema }) => html`<${Field}
        key=${name}
        name=${name}
        schema=${schema}
        isRequired=${body.required?.includes(name)}
        value=${draft[name] ?? renderDraft(base.data[name], schema)}
        problem=${problems.get(name)}
        onChange=${(/** @type {any} */ value) => setDraft((before) => ({ ...before, [name]: value }))}
      />`,
    )}
    <footer class="form-foot">
      <span class="muted small">${changed.length ? `${changed.length} changed` : "Nothing changed"}</span>
      <button type="button" class="button" onClick=${onCancel}>Cancel</button>
      <button type="submit" class="button primary" disabled=${!changed.length || isSaving}>${isSaving ? "Saving…" : "Save"}</button>
    </footer>
  </form>`;
}

/**
 * The body of a change, or of a replacement with all fields.
 * @param {{name: string, schema: any}[]} fields
 * @param {Draft} draft
 * @param {Record<string, any>} stored
 * @param {boolean} isWhole
 */
export function readFields(fields, draft, stored, isWhole) {
  /** @type {Record<string, any>} */
  const body = {};
  const errors = [];
  for (const { name, schema } of fields) {
    const isTyped = name in draft && draft[name] !== renderDraft(stored[name], schema);
    if (!isTyped && !isWhole) continue;
    try {
      const value = isTyped ? readDraft(draft[name], schema) : stored[name];
      if (value !== undefined) body[name] = value;
    } catch {
      errors.push({ field: name, message: "This is no JSON." });
    }
  }
  if (errors.length) throw Object.assign(new Error("Some fields cannot be read."), { errors });
  return body;
}
