/** Which fields of an item a table shows, and in which order. */

import { renderName, resolve } from "console/catalog.js";

/** @typedef {import("console/parts/table.js").Column} Column */

const MAX_COLUMNS = 7;
const LAST = ["created_at", "version"];
const TITLES = ["name", "title", "text", "question", "candidates", "label", "subject"];
const HIDDEN = ["version", "versioned_at", "shards"];

/**
 * The columns of a list: what names an item first, when it was created last.
 * @param {import("console/catalog.js").Schema} schema of one item
 * @param {string[]} [fixed] fields with the same value in every row
 * @param {string[]} [names] the fields to show, if they are chosen
 * @returns {Column[]}
 */
export function chooseColumns(schema, fixed = [], names = chooseNames(schema, fixed)) {
  return names.map((name, place) => {
    const column = makeColumn(name, resolve(schema.properties[name]));
    return name === "id" && place > 0 ? { ...column, width: "8.5rem" } : column;
  });
}

/** @param {import("console/catalog.js").Schema} schema @param {string[]} fixed */
function chooseNames(schema, fixed) {
  const names = Object.keys(schema.properties ?? {});
  const shown = names.filter((name) => !HIDDEN.includes(name) && !fixed.includes(name));
  const titles = TITLES.filter((name) => shown.includes(name));
  const others = shown.filter((name) => !TITLES.includes(name) && !LAST.includes(name) && name !== "id");
  const isList = (/** @type {string} */ name) => resolve(schema.properties[name]).type === "array";
  const order = [...titles, ...others.filter((name) => !isList(name)), ...others.filter(isList)];
  const chosen = order.slice(0, MAX_COLUMNS - 1 - (shown.includes("id") ? 1 : 0));
  // An id that nobody chose is last; without a title it names the item.
  if (shown.includes("id")) chosen.splice(titles.length ? chosen.length : 0, 0, "id");
  if (shown.includes("created_at")) chosen.push("created_at");
  return chosen;
}

/**
 * @param {string} name
 * @param {import("console/catalog.js").Schema} schema
 * @returns {Column}
 */
export function makeColumn(name, schema) {
  const isNumber = ["integer", "number"].includes(schema.type) || schema.format === "decimal";
  return { name, title: renderName(name), width: chooseWidth(name, schema, isNumber), isNumber };
}

/**
 * @param {string} name
 * @param {import("console/catalog.js").Schema} schema
 * @param {boolean} isNumber
 */
function chooseWidth(name, schema, isNumber) {
  if (isNumber) return "minmax(5rem, 7rem)";
  if (schema.format === "date-time") return "11rem";
  if (schema.format === "date") return "7.5rem";
  if (schema.type === "boolean" || schema.enum) return "7rem";
  if (name === "id") return "minmax(8rem, 16.5rem)";
  return TITLES.includes(name) ? "minmax(11rem, 2fr)" : "minmax(8rem, 1fr)";
}
