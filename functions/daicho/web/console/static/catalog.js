/**
 * What the API offers, from its OpenAPI document alone: no entity is known to this page.
 *
 * `x-daicho-queries` of an operation has the kind of each of its queries and its entity. So an
 * entity that is added to the stack has its searches, lists, figures and forms here at once.
 */

import { computed, signal } from "@preact/signals";
import { parseJson } from "console/format.js";
import { base, user } from "console/session.js";
import { makeHash } from "console/router.js";

/**
 * @typedef {Record<string, any>} Schema
 * @typedef {{name: string, in: string, required: boolean, description?: string, schema: Schema,
 *   example?: any}} Parameter
 * @typedef {{id: string, method: string, path: string, tag: string, summary: string,
 *   parameters: Parameter[], queries: Query[], body: Schema | null, answer: Schema | null,
 *   roles: string[] | Record<string, string[]>}} Operation
 * @typedef {{kind: string, name: string, summary: string, entity: string | null,
 *   required: string[], optional: string[], fixed: Record<string, string>,
 *   search_parameter: string | null, searched: string[], max_items?: number,
 *   series?: {unit: string, zone: string, first_weekday: number, steps: string[]},
 *   operation: Operation}} Query
 * @typedef {{name: string, tag: string, queries: Query[]}} Entity
 */

/** The document. @type {import("@preact/signals").Signal<any>} */
export const document_ = signal(null);

/** All operations by their ids. */
export const operations = computed(() => readOperations(document_.value));

/** All entities by name, in the order of the document. */
export const entities = computed(() => groupByEntity(operations.value));

/** Load the document once; it needs no token. */
export async function loadCatalog() {
  const response = await fetch(new URL("openapi.json", base));
  if (!response.ok) throw new Error(`openapi.json: ${response.status}`);
  document_.value = parseJson(await response.text());
}

/** @param {string} id */
export function findOperation(id) {
  return operations.value.get(id) ?? null;
}

/**
 * The queries of an entity of some kinds, which the user may send.
 * @param {Entity | undefined} entity
 * @param {...string} kinds
 */
export function listQueries(entity, ...kinds) {
  return (entity?.queries ?? []).filter((query) => kinds.includes(query.kind) && maySend(query));
}

/**
 * The first query of a kind; null without one.
 * @param {string} entity
 * @param {string} kind
 */
export function findQuery(entity, kind) {
  return listQueries(entities.value.get(entity), kind)[0] ?? null;
}

/** All queries of some kinds, of all entities. @param {...string} kinds */
export function listAllQueries(...kinds) {
  return [...entities.value.values()].flatMap((entity) => listQueries(entity, ...kinds));
}

/** All series, and the totals that have further figures of their group. */
export function listFigureQueries() {
  return listAllQueries("series", "total").filter(({ kind, operation: { answer } }) => {
    const kinds = answer?.anyOf ?? [answer];
    return kind === "series" || kinds.some((/** @type {Schema} */ one) => resolve(one).properties?.figures);
  });
}

/**
 * Whether the user has a role that the query needs. The API checks it too.
 * @param {Query} query
 */
export function maySend(query) {
  const { roles } = query.operation;
  const key = query.required.length ? `?${query.required.map((n) => `${n}=${query.fixed[n] ?? ""}`).join("&")}` : "";
  const needed = Array.isArray(roles) ? roles : (roles[key] ?? []);
  return !needed.length || needed.some((role) => user.value?.groups.includes(role));
}

/**
 * A schema without its reference.
 * @param {Schema | null | undefined} schema
 * @returns {Schema}
 */
export function resolve(schema) {
  let resolved = schema ?? {};
  while (resolved.$ref) {
    resolved = document_.value.components.schemas[resolved.$ref.split("/").at(-1)] ?? {};
  }
  const kinds = (resolved.anyOf ?? []).filter((/** @type {Schema} */ kind) => kind.type !== "null");
  const nullable = kinds.length < resolved.anyOf?.length;
  if (kinds.length === 1) return { ...resolved, ...resolve(kinds[0]), nullable };
  // A decimal is sent as a number or as text; text keeps its digits.
  const isDecimal = kinds.map((/** @type {Schema} */ { type }) => type).sort().join() === "number,string";
  if (isDecimal) return { ...resolved, ...kinds[0], type: "string", format: "decimal", nullable };
  return nullable ? { ...resolved, nullable } : resolved;
}

/**
 * The schema of the items that an operation lists, or of its one item.
 * @param {Operation} operation
 */
export function resolveItem(operation) {
  const kinds = operation.answer?.anyOf ?? [operation.answer];
  const answers = kinds.map(resolve);
  const page = answers.find((/** @type {Schema} */ answer) => answer.properties?.items && "cursor" in answer.properties);
  return page ? resolve(page.properties.items.items) : (answers[0] ?? {});
}

/**
 * The names of the variables and parameters without which a query cannot be sent.
 * @param {Query} query
 */
export function listNeeded(query) {
  const inPath = query.operation.parameters.filter((one) => one.in === "path").map((one) => one.name);
  return [...inPath, ...query.required.filter((name) => !(name in query.fixed))];
}

/**
 * The path and the parameters of a request, from values by name; null if one is missing.
 * @param {Query} query
 * @param {Record<string, any>} values
 */
export function fillRequest(query, values) {
  /** @type {Record<string, any>} */
  const parameters = { ...query.fixed };
  let path = query.operation.path;
  for (const parameter of query.operation.parameters) {
    const { name } = parameter;
    const value = values[name];
    const isEmpty = value === undefined || value === null || value === "";
    if (parameter.in === "path") {
      if (isEmpty) return null;
      path = path.replace(`{${name}}`, encodeURIComponent(String(value)));
    } else if (parameter.in === "query" && !(name in query.fixed)) {
      if (isEmpty && query.required.includes(name)) return null;
      const takes = query.required.includes(name) || query.optional.includes(name);
      if (!isEmpty && takes) parameters[name] = value;
    }
  }
  return { path, query: parameters };
}

/**
 * The address in the page of an item of an entity; null if the API shows no single one.
 * @param {string | null} entity
 * @param {Record<string, any>} item
 */
export function makeItemHash(entity, item) {
  const get = entity ? findQuery(entity, "get") ?? findQuery(entity, "replace") : null;
  if (get) {
    const values = listKeyNames(get).map((name) => item[name]);
    if (values.some((value) => value === undefined || value === null)) return null;
    return makeQueryHash("item", get, item);
  }
  // A poll has no item to show, but its totals.
  const shown = entities.value.get(entity ?? "")?.queries.find(isPoll);
  return shown && item.id ? makeHash(["polls", item.id]) : null;
}

/** @param {Query} query */
export function isPoll(query) {
  const answer = query.operation.method === "GET" ? resolveItem(query.operation) : {};
  return Boolean(answer.properties?.totals && answer.properties?.votes);
}

/** The fields of an item that its address needs. @param {Query} query */
export function listKeyNames(query) {
  return listNeeded(query);
}

/**
 * The address in the page of a query with values: `#/item/<operation>/<path values>?<others>`.
 * @param {string} page
 * @param {Query} query
 * @param {Record<string, any>} values
 */
export function makeQueryHash(page, query, values) {
  const inPath = query.operation.parameters.filter((one) => one.in === "path");
  /** @type {Record<string, any>} */
  const others = {};
  for (const { name } of query.operation.parameters.filter((one) => one.in === "query")) {
    const isKey = query.required.includes(name) || !["limit", "cursor", "fields", "upload", "live"].includes(name);
    if (isKey && values[name] !== undefined && query.optional.concat(query.required).includes(name)) {
      others[name] = values[name];
    }
  }
  const path = [page, query.operation.id, ...inPath.map(({ name }) => String(values[name] ?? ""))];
  return makeHash(path, others);
}

/**
 * The values of an address that `makeQueryHash` has made.
 * @param {Operation} operation
 * @param {import("console/router.js").Route} route
 * @returns {Record<string, string>}
 */
export function readQueryHash(operation, route) {
  const inPath = operation.parameters.filter((one) => one.in === "path");
  const values = Object.fromEntries(inPath.map(({ name }, place) => [name, route.path[place + 2] ?? ""]));
  return { ...Object.fromEntries(route.query), ...values };
}

/** `customer_orders` and `CustomerOrders` in words. @param {string} name */
export function renderName(name) {
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").replace(/_/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A searched field in words: `Category.name`, of a related entity. @param {string} name */
export function renderField(name) {
  const [entity, field] = name.split(".");
  return field ? `${entity.toLowerCase()} ${field}` : name.replace(/_/g, " ");
}

/** Several of an entity. @param {string} entity */
export function renderPlural(entity) {
  const name = renderName(entity);
  if (/[^aeiou]y$/.test(name)) return `${name.slice(0, -1)}ies`;
  return /(s|x|ch|sh)$/.test(name) ? `${name}es` : `${name}s`;
}

/**
 * @param {any} document
 * @returns {Map<string, Operation>}
 */
function readOperations(document) {
  /** @type {Map<string, Operation>} */
  const read = new Map();
  for (const [path, methods] of Object.entries(document?.paths ?? {})) {
    for (const [method, described] of Object.entries(methods)) {
      const success = ["200", "201", "202"].map((status) => described.responses?.[status]);
      /** @type {Operation} */
      const operation = {
        id: described.operationId,
        method: method.toUpperCase(),
        path,
        tag: described.tags?.[0] ?? "",
        summary: described.summary ?? "",
        parameters: described.parameters ?? [],
        queries: [],
        body: described.requestBody?.content?.["application/json"]?.schema ?? null,
        answer: success.map((one) => one?.content?.["application/json"]?.schema).find(Boolean) ?? null,
        roles: described["x-daicho-roles"] ?? [],
      };
      operation.queries = (described["x-daicho-queries"] ?? []).map((/** @type {any} */ query) => ({
        ...query,
        operation,
      }));
      read.set(operation.id, operation);
    }
  }
  return read;
}

/**
 * @param {Map<string, Operation>} all
 * @returns {Map<string, Entity>}
 */
function groupByEntity(all) {
  /** @type {Map<string, Entity>} */
  const grouped = new Map();
  for (const operation of all.values()) {
    for (const query of operation.queries) {
      if (!query.entity) continue;
      const entity = grouped.get(query.entity) ?? { name: query.entity, tag: operation.tag, queries: [] };
      entity.queries.push(query);
      grouped.set(query.entity, entity);
    }
  }
  return new Map([...grouped].sort(([first], [second]) => first.localeCompare(second, "en")));
}
