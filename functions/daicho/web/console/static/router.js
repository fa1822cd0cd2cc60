/**
 * Addresses within the page: `#/list/list_orders?status=open`. Filters are part of the address.
 *
 * `route` is the current address; `makeHash` makes one, `navigate` goes there. `leaveGuard` asks
 * before text that is not saved is left.
 *
 * An address may contain what a user typed. So each entry of the history is marked with its user,
 * and an entry of another user is not followed.
 */

import { signal } from "@preact/signals";
import { pageAddress } from "console/issuer.js";
import { addressOwner } from "console/session.js";

/** @typedef {{path: string[], query: URLSearchParams, hash: string}} Route */

/** @type {import("@preact/signals").Signal<Route>} */
export const route = signal(parseHash(location.hash));

/** @type {{ask: (() => Promise<boolean>) | null}} */
export const leaveGuard = { ask: null };

/**
 * @param {string} hash
 * @returns {Route}
 */
export function parseHash(hash) {
  const [path, query = ""] = splitOnce(hash.replace(/^#\/?/, ""), "?");
  const words = path.split("/").filter(Boolean).map(decode);
  return { path: words, query: new URLSearchParams(query), hash: hash || "#/" };
}

/**
 * @param {string[]} path
 * @param {Record<string, string | number | boolean | null | undefined>} [query]
 */
export function makeHash(path, query = {}) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/**
 * @param {string} hash
 * @param {{replace?: boolean}} [options]
 */
export function navigate(hash, { replace = false } = {}) {
  if (hash === location.hash) return;
  if (!replace) {
    location.hash = hash;
    return;
  }
  history.replaceState(makeMark(), "", hash);
  route.value = parseHash(hash);
}

function makeMark() {
  return { owner: addressOwner() };
}

/** Mark the current entry; leave it if it is another user's. */
function claimEntry() {
  const owner = history.state?.owner;
  const isAnothers = owner && owner !== addressOwner();
  history.replaceState(makeMark(), "", isAnothers ? pageAddress : undefined);
}

/** Follow the address. Call it once, when the login has restored the address. */
export function startRouter() {
  route.value = parseHash(location.hash);
  addEventListener("hashchange", async () => {
    if (!addressOwner()) return;
    claimEntry();
    const hash = location.hash;
    if (hash === route.value.hash) return;
    if (leaveGuard.ask) {
      history.replaceState(makeMark(), "", route.value.hash);
      if (!(await leaveGuard.ask())) return;
      leaveGuard.ask = null;
      history.pushState(makeMark(), "", hash);
    }
    route.value = parseHash(hash);
  });
  addEventListener("beforeunload", (event) => {
    if (leaveGuard.ask) event.preventDefault();
  });
}

/**
 * @param {string} text
 * @param {string} mark
 */
function splitOnce(text, mark) {
  const place = text.indexOf(mark);
  return place < 0 ? [text] : [text.slice(0, place), text.slice(place + 1)];
}

/** @param {string} word */
function decode(word) {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}
