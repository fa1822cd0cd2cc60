/** Keys: those of the page, those of a list, and what shows them. */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { html } from "console/html.js";
import { listAllQueries } from "console/catalog.js";
import { navigate } from "console/router.js";
import { readStored, writeStored } from "console/storage.js";
import { Dialog } from "console/parts/dialog.js";

const KEY = "daicho.keys";
const OFF = "off";
const KEYS = [
  ["/", "Search"],
  ["j or k, also ↓ or ↑ in a list", "Next or previous item of the list"],
  ["Home, End", "First or last item that was read"],
  ["Enter", "Open the item"],
  ["x or Space", "Select the item, or no longer"],
  ["Shift with a click", "Select all items up to this one"],
  ["Backspace", "Back to the page before"],
  ["Escape", "Close a window or a menu"],
  ["?", "Show these keys"],
];

/** Whether keys of one character do something: with speech input they may be pressed by mistake. */
const areOn = signal(readStored(KEY) !== OFF);
export const isHelpOpen = signal(false);

/** The key, if it is for the page and not for what is typed; empty otherwise. @param {KeyboardEvent} event */
export function readKey(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  const isTyping = target.closest?.("input:not([type=checkbox]), textarea, select, dialog, [popover], [contenteditable]");
  if (isTyping || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return "";
  return areOn.value || !/^([^ ]|Backspace)$/.test(event.key) ? event.key : "";
}

/** Focus the first item of the list of the page. @returns {boolean} whether there is one */
export function focusList() {
  const first = document.querySelector("main .body .cell :is(a, button)") ?? document.querySelector("main .body input");
  if (first instanceof HTMLElement) first.focus();
  return first !== null;
}

/** Follow the keys of the page. The shell calls it once. */
export function useShortcuts() {
  useEffect(() => {
    const listen = (/** @type {KeyboardEvent} */ event) => {
      if (followKey(readKey(event))) event.preventDefault();
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
}

/** @param {string} key @returns {boolean} whether it does something */
function followKey(key) {
  switch (key) {
    case "/": {
      if (!listAllQueries("search").length) return false;
      const input = document.querySelector("input[type=search]");
      if (input instanceof HTMLInputElement) input.focus();
      else navigate("#/search");
      return true;
    }
    case "?":
      isHelpOpen.value = true;
      return true;
    case "j":
    case "k":
      return focusList();
    case "Backspace":
      history.back();
      return true;
    default:
      return false;
  }
}

/** The window with all keys. The shell has it once. */
export function KeyboardHelp() {
  if (!isHelpOpen.value) return null;
  const setOn = (/** @type {boolean} */ isOn) => {
    areOn.value = isOn;
    writeStored(KEY, isOn ? "on" : OFF);
  };
  return html`<${Dialog} title="Keyboard" onClose=${() => (isHelpOpen.value = false)}>
    <dl class="keys">
      ${KEYS.map(([keys, text]) => html`<div key=${keys}><dt><kbd>${keys}</kbd></dt><dd>${text}</dd></div>`)}
    </dl>
    <label class="switch"
      ><input type="checkbox" checked=${areOn.value} onChange=${(/** @type {any} */ event) => setOn(event.currentTarget.checked)} />Keys of one
      character, and Backspace</label
    >
  <//>`;
}
