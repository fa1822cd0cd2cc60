/** A new item: the form of what the API takes, and the key fields that the user chooses. */

import { useState } from "preact/hooks";
import { html } from "console/html.js";
import {
  fillRequest, findOperation, listNeeded, makeItemHash, readQueryHash, renderName, renderPlural, resolve,
} from "console/catalog.js"; // prettier-ignore
import { makeKey, request } from "console/request.js";
import { makeHash, navigate } from "console/router.js";
import { CurlButton } from "console/parts/curl.js";
import { useLeaveGuard } from "console/parts/dialog.js";
import { Fields, listFields, readFields } from "console/parts/fields.js";
import { Empty, ErrorState } from "console/parts/states.js";
import { PageHeader } from "console/parts/page.js";
import { showToast } from "console/parts/status.js";

/** @param {{route: import("console/router.js").Route}} props */
export default function CreatePage({ route }) {
  const operation = findOperation(route.path[1] ?? "");
  const query = operation?.queries.find(({ kind }) => kind === "create" || kind === "replace");
  if (!operation || !query) return html`<div class="page"><${Empty} isPage title="Nothing can be created here" /></div>`;
  return html`<${Create} key=${operation.id} query=${query} given=${readQueryHash(operation, route)} />`;
}

/** @param {{query: import("console/catalog.js").Query, given: Record<string, string>}} props */
function Create({ query, given }) {
  const { operation } = query;
  const body = resolve(operation.body);
  const [fields] = useState(() => listFields(body));
  const defaults = Object.fromEntries(fields.map(({ name, schema }) => [name, schema.default]));
  const keys = listNeeded(query).map((name) => ({
    name,
    schema: resolve(operation.parameters.find((one) => one.name === name)?.schema),
  }));
  const [draft, setDraft] = useState(/** @type {Record<string, any>} */ ({ ...given }));
  const [error, setError] = useState(/** @type {any} */ (null));
  const [isSaving, setSaving] = useState(false);
  const [key] = useState(makeKey);
  const isTyped = Object.keys(draft).some((name) => draft[name] && draft[name] !== given[name]);
  const endGuard = useLeaveGuard(isTyped);
  const required = [...listNeeded(query), ...(body.required ?? [])];
  const entity = query.entity ?? "";

  const save = async () => {
    setError(null);
    setSaving(true);
    try {
      const typed = readFields([...keys, ...fields], draft, defaults, { required });
      const target = fillRequest(query, { ...draft, ...typed });
      if (!target) return;
      const content = Object.fromEntries(fields.map(({ name }) => [name, typed[name]]));
      const headers = /** @type {Record<string, string>} */ (query.kind === "replace" ? { "If-None-Match": "*" } : {});
      const answer = await request(target.path, { method: operation.method, query: target.query, body: content, headers, key });
      endGuard();
      showToast(`${renderName(entity)} created`);
      navigate(makeItemHash(entity, { ...draft, ...answer.data }) ?? makeHash(["entity", entity]));
    } catch (/** @type {any} */ problem) {
      setError(problem);
    } finally {
      setSaving(false);
    }
  };

  const target = fillRequest(query, draft);
  return html`<div class="page">
    <${PageHeader} title=${`New ${renderName(entity).toLowerCase()}`} about=${body.description} trail=${[{ text: renderPlural(entity), href: makeHash(["entity", entity]) }]}>
      ${target && html`<${CurlButton} method=${operation.method} path=${target.path} query=${target.query} body=${readSafely(fields, draft, defaults)} />`}
    <//>
    <form
      class="form"
      novalidate
      onSubmit=${(/** @type {Event} */ event) => {
        event.preventDefault();
        if (!isSaving) void save();
      }}
    >
      ${error && html`<${ErrorState} error=${error} onRetry=${error.status === undefined ? undefined : save} compact />`}
      <${Fields} fields=${[...keys, ...fields]} draft=${draft} stored=${defaults} required=${required} error=${error} setDraft=${setDraft} />
      <footer class="form-foot">
        ${query.max_items && html`<span class="muted small">A tenant has at most ${query.max_items}.</span>`}
        <button type="button" class="button" onClick=${() => history.back()}>Cancel</button>
        <button type="submit" class="button primary" disabled=${isSaving}>${isSaving ? "Creating…" : "Create"}</button>
      </footer>
    </form>
  </div>`;
}

/** @param {any[]} fields @param {Record<string, any>} draft @param {Record<string, any>} defaults */
function readSafely(fields, draft, defaults) {
  try {
    return readFields(fields, draft, defaults);
  } catch {
    return {};
  }
}
