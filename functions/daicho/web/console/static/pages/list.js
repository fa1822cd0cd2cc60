/** A declared list with its parameters as filters. The filters are in the address. */

import { html } from "console/html.js";
import {
  fillRequest, findOperation, findQuery, listNeeded, makeQueryHash, readQueryHash,
  renderName, renderPlural, resolve, resolveItem,
} from "console/catalog.js"; // prettier-ignore
import { chooseColumns } from "console/columns.js";
import { usePages } from "console/load.js";
import { request } from "console/request.js";
import { makeHash, navigate, route as current } from "console/router.js";
import { Field, useTyped } from "console/parts/fields.js";
import { Icon } from "console/parts/icons.js";
import { Empty } from "console/parts/states.js";
import { ItemList } from "console/parts/item-list.js";
import { PageHeader } from "console/parts/page.js";

const PAGE = 50;
const NO_FILTERS = ["limit", "cursor", "fields", "include", "live", "upload"];
const FILTER_DELAY_MS = 300;
const BOUNDS = [["from", "to"], ["list_from", "list_to"]];
const TIMES = ["date", "date-time"];
const DAY = /^\d{4}-\d\d-\d\d$/;

/** @param {{route: import("console/router.js").Route}} props */
export default function ListPage({ route }) {
  const operation = findOperation(route.path[1] ?? "");
  const view = route.query.get("$view");
  const kinds = ["list", "search", "get", "versions"];
  const query =
    operation?.queries.find(({ name }) => name === view) ??
    operation?.queries.find((one) => one.kind === "list" && !listNeeded(one).length) ??
    operation?.queries.find(({ kind }) => kinds.includes(kind));
  if (!operation || !query) {
    return html`<div class="page"><${Empty} isPage title="There is no such list"><a href="#/">Go to the start</a><//></div>`;
  }
  return html`<${List} key=${query.name} query=${query} route=${route} />`;
}

/** @param {{query: import("console/catalog.js").Query, route: import("console/router.js").Route}} props */
function List({ query, route }) {
  const { operation } = query;
  const values = readQueryHash(operation, route);
  const needed = listNeeded(query);
  const filled = fillRequest(query, { ...values, limit: PAGE, cursor: undefined });
  const list = usePages(
    filled
      ? async (cursor, signal) => (await request(filled.path, { query: { ...filled.query, cursor }, signal })).data
      : null,
    [query.name, JSON.stringify(filled)],
  );
  const create = findQuery(query.entity ?? "", "create");
  // Of the newest address: another filter may have changed it since this one was typed in.
  const change = (/** @type {string} */ name, /** @type {any} */ value) =>
    navigate(makeListHash(query, { ...readQueryHash(operation, current.value), [name]: value }), { replace: true });
  const missing = needed.filter((name) => !values[name]);
  const count = `${list.rows.length}${list.cursor ? "+" : ""}`;
  return html`<div class="page full">
    <${PageHeader}
      title=${renderPlural(query.entity ?? operation.tag)}
      about=${query.summary}
      trail=${query.entity ? [{ text: renderPlural(query.entity), href: makeHash(["entity", query.entity]) }] : []}
    >
      ${create &&
      html`<a class="button primary" href=${makeQueryHash("new", create, values)}><${Icon} name="plus" />New</a>`}
    <//>
    <${Filters} query=${query} values=${values} errors=${list.error?.errors ?? []} onChange=${change} />
    <${ItemList}
      label=${query.summary}
      query=${query}
      list=${list}
      filled=${filled}
      status=${html`<p class="muted number" role="status">${filled ? (list.isLoading && !list.rows.length ? "Loading…" : count) : ""}</p>
        ${filled && html`<button type="button" class="button quiet" onClick=${list.restart}><${Icon} name="refresh" />Refresh</button>`}`}
      chosen=${values.$columns ?? ""}
      listColumns=${(/** @type {string[] | undefined} */ names) => chooseColumns(resolveItem(operation), needed, names)}
      makeAddress=${(/** @type {string} */ $columns) => makeListHash(query, { ...values, $columns })}
      instead=${missing.length > 0 &&
      html`<${Empty} title=${`Choose ${missing.map(renderName).join(" and ").toLowerCase()}`}>
        This list is declared for one ${missing.map((name) => renderName(name).toLowerCase()).join(" and ")} at a time.
      <//>`}
      empty=${html`<${Empty} title="This list is empty">
        ${Object.keys(values).some((name) => !name.startsWith("$")) ? "No item has these values. Change the filters above." : "No item has been created yet."}
      <//>`}
    />
  </div>`;
}

/**
 * @param {import("console/catalog.js").Query} query
 * @param {Record<string, any>} values
 */
function makeListHash(query, values) {
  const hash = makeQueryHash("list", query, values);
  const shown = { $view: query.name, ...(values.$columns && { $columns: values.$columns }) };
  return `${hash}${hash.includes("?") ? "&" : "?"}${new URLSearchParams(shown)}`;
}

/**
 * @param {{query: import("console/catalog.js").Query, values: Record<string, string>,
 *   errors: {field: string, message: string}[], onChange: (name: string, value: any) => void}} props
 */
function Filters({ query, values, errors, onChange }) {
  const needed = listNeeded(query);
  const names = [...needed, ...query.optional.filter((name) => !NO_FILTERS.includes(name))];
  if (!names.length) return null;
  const show = (/** @type {string} */ name) => {
    const parameter = query.operation.parameters.find((one) => one.name === name);
    const value = values[name] ?? "";
    return html`<${Filter}
      key=${name}
      name=${name}
      schema=${describeFilter(parameter?.schema, value)}
      help=${parameter?.description}
      isRequired=${needed.includes(name)}
      value=${value}
      problem=${errors.find(({ field }) => field.split(".").at(-1) === name)?.message}
      onChange=${(/** @type {any} */ changed) => onChange(name, changed)}
    />`;
  };
  const bounds = BOUNDS.find((both) => both.every((name) => names.includes(name))) ?? [];
  return html`<form class="filters" aria-label="Filters" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
    ${names.filter((name) => !bounds.includes(name)).map(show)}
    ${bounds.length > 0 &&
    html`<fieldset class="range">
      <legend>Between, both included</legend>
      ${bounds.map(show)}
    </fieldset>`}
  </form>`;
}

/** Text is taken after a pause, or with Enter. @param {any} props */
function Filter({ name, schema, help, isRequired, value, problem, onChange }) {
  const isText = !schema.enum && schema.type !== "boolean" && schema.format !== "date";
  const change = (/** @type {any} */ changed) => onChange(changed === false ? "" : changed);
  const [typed, setTyped] = useTyped(value, change, isText ? FILTER_DELAY_MS : 0);
  return html`<div title=${help}>
    <${Field} name=${name} idPrefix="filter" schema=${{ ...schema, description: "" }} value=${typed} isRequired=${isRequired} problem=${problem} onChange=${setTyped} />
  </div>`;
}

/**
 * A filter takes one value where the API takes several. Where it takes days and instants, a day is
 * chosen, unless the address has an instant.
 * @param {any} schema
 * @param {string} value
 */
function describeFilter(schema, value) {
  const resolved = resolve(schema);
  const kinds = (resolved.anyOf ?? [resolved]).map(resolve);
  const choice = kinds.find((/** @type {any} */ kind) => kind.enum);
  if (choice) return { type: "string", enum: choice.enum };
  const areDays = kinds.every((/** @type {any} */ { format }) => TIMES.includes(format));
  if (areDays) return { type: "string", format: !value || DAY.test(value) ? "date" : "" };
  if (kinds.length === 1) return { type: resolved.type, format: resolved.format, enum: resolved.enum };
  return { type: "string" };
}
