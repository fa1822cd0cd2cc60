/**
 * Saved views: lists with their filters and columns, by name. They are kept in this browser for one
 * user. An address alone has all of a view, so a link carries it.
 */

import { signal } from "@preact/signals";
import { addressOwner } from "console/session.js";
import { readStored, writeStored } from "console/storage.js";

/** @typedef {{name: string, list: string, hash: string}} View `list`: the query that it filters */

const MAX_VIEWS = 100;
const changes = signal(0);

function getKey() {
  return `daicho.views.${addressOwner()}`;
}

/** @returns {View[]} */
function readViews() {
  try {
    const views = JSON.parse(readStored(getKey()) ?? "[]");
    return Array.isArray(views) ? views.filter((view) => [view?.name, view?.list, view?.hash].every((text) => typeof text === "string")) : [];
  } catch {
    return []; // written by something else
  }
}

/** The views of a list, by name. A component that calls it is drawn again when one changes. @param {string} list */
export function listViews(list) {
  return changes.value >= 0 ? readViews().filter((view) => view.list === list) : [];
}

/**
 * Save a view in place of the one with its name.
 * @param {View} view
 * @returns {boolean} whether the browser keeps it
 */
export function saveView(view) {
  const others = readViews().filter((one) => one.list !== view.list || one.name !== view.name);
  return others.length < MAX_VIEWS && storeViews([...others, view]);
}

/** @param {View} view */
export function removeView(view) {
  storeViews(readViews().filter((one) => one.list !== view.list || one.name !== view.name));
}

/** @param {View[]} views */
function storeViews(views) {
  const isKept = writeStored(getKey(), JSON.stringify(views.sort((a, b) => a.name.localeCompare(b.name, "en"))));
  changes.value += 1;
  return isKept;
}
