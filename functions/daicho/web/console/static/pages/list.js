/** A declared list with its parameters as filters. The filters are in the address. */

import { useEffect, useState } from "preact/hooks";
import { html } from "console/html.js";
import {
  fillRequest, findOperation, findQuery, listNeeded, makeItemHash, makeQueryHash, readQueryHash,
  renderName, renderPlural, resolve, resolveItem,
} from "console/catalog.js"; // prettier-ignore
import { chooseColumns } from "console/columns.js";
import { usePages } from "console/load.js";
import { request } from "console/request.js";
import { makeHash, navigate } from "console/router.js";
import { CurlButton } from "console/parts/curl.js";
import { Field } from "console/parts/fields.js";
import { Icon } from "console/parts/icons.js";
import { Empty } from "console/parts/states.js";
import { Freshness, PageHeader } from "console/parts/page.js";
import { Table } from "console/parts/table.js";

const PAGE = 50;
const NO_FILTERS = ["limit", "cursor", "fields", "include", "live", "upload"];
const FILTER_DELAY_MS = 300;

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
    [query.name, route.hash],
  );
  const create = findQuery(query.entity ?? "", "create");
  const change = (/** @type {string} */ name, /** @type {any} */ value) =>
    navigate(makeListHash(query, { ...values, [name]: value }), { replace: true });
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
    <${Filters} query=${query} values=${values} onChange=${change} />
    <div class="list-line">
      <p class="muted number" role="status">${filled ? (list.isLoading && !list.rows.length ? "Loading…" : count) : ""}</p>
      ${filled && html`<button type="button" class="button quiet" onClick=${list.restart}><${Icon} name="refresh" />Refresh</button>`}
      ${filled && html`<${CurlButton} path=${filled.path} query=${filled.query} />`}
    </div>
    ${missing.length
      ? html`<${Empty} title=${`Choose ${missing.map(renderName).join(" and ").toLowerCase()}`}>
          This list is declared for one ${missing.map((name) => renderName(name).toLowerCase()).join(" and ")} at a time.
        <//>`
      : html`<${Table}
          label=${query.summary}
          columns=${chooseColumns(resolveItem(operation), needed)}
          rows=${list.rows}
          getHref=${(/** @type {any} */ row) => makeItemHash(query.entity, row)}
          isLoading=${list.isLoading}
          isStale=${list.isStale}
          hasMore=${Boolean(list.cursor)}
          onMore=${list.loadMore}
          error=${list.error}
          onRetry=${list.retry}
          empty=${html`<${Empty} title="This list is empty">
            ${Object.keys(values).filter((name) => name !== "$view").length
              ? "No item has these values. Change the filters above."
              : "No item has been created yet."}
          <//>`}
        />`}
    <${Freshness} at=${list.at} kind="list" />
  </div>`;
}

/**
 * @param {import("console/catalog.js").Query} query
 * @param {Record<string, any>} values
 */
function makeListHash(query, values) {
  const hash = makeQueryHash("list", query, values);
  return `${hash}${hash.includes("?") ? "&" : "?"}${new URLSearchParams({ $view: query.name })}`;
}

/**
 * @param {{query: import("console/catalog.js").Query, values: Record<string, string>,
 *   onChange: (name: string, value: any) => void}} props
 */
function Filters({ query, values, onChange }) {
  const needed = listNeeded(query);
  const names = [...needed, ...query.optional.filter((name) => !NO_FILTERS.includes(name))];
  if (!names.length) return null;
  return html`<form class="filters" aria-label="Filters" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
    ${names.map((name) => {
      const parameter = query.operation.parameters.find((one) => one.name === name);
      return html`<${Filter}
        key=${name}
        name=${name}
        schema=${describeFilter(parameter?.schema)}
        help=${parameter?.description}
        isRequired=${needed.includes(name)}
        value=${values[name] ?? ""}
        onChange=${(/** @type {any} */ value) => onChange(name, value)}
      />`;
    })}
  </form>`;
}

/** Text is taken after a pause, or with Enter. @param {any} props */
function Filter({ name, schema, help, isRequired, value, onChange }) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed === value) return undefined;
    const isText = !schema.enum && schema.type !== "boolean" && schema.format !== "date";
    const timer = setTimeout(() => onChange(typed === false ? "" : typed), isText ? FILTER_DELAY_MS : 0);
    return () => clearTimeout(timer);
  }, [typed]);
  return html`<div title=${help}>
    <${Field} name=${name} idPrefix="filter" schema=${{ ...schema, description: "" }} value=${typed} isRequired=${isRequired} onChange=${setTyped} />
  </div>`;
}

/** A filter takes one value where the API takes several. @param {any} schema */
function describeFilter(schema) {
  const resolved = resolve(schema);
  const kinds = (resolved.anyOf ?? [resolved]).map(resolve);
  const choice = kinds.find((/** @type {any} */ kind) => kind.enum);
  if (choice) return { type: "string", enum: choice.enum };
  if (kinds.length === 1) return { type: resolved.type, format: resolved.format, enum: resolved.enum };
  return { type: "string" };
}
