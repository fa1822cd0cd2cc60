/** Short messages at the edge of the page, also for screen readers. */

import { signal } from "@preact/signals";
import { html } from "console/html.js";

/** @typedef {{id: number, text: string, kind: "done" | "failed"}} Toast */

const SHOWN_MS = 6_000;
/** @type {import("@preact/signals").Signal<Toast[]>} */
const toasts = signal([]);
/** What screen readers are told: the end of a search, of a change. */
const announced = signal("");
let last = 0;

/**
 * Show a message for some seconds.
 * @param {string} text
 * @param {"done" | "failed"} [kind]
 */
export function showToast(text, kind = "done") {
  const toast = { id: (last += 1), text, kind };
  toasts.value = [...toasts.value.slice(-2), toast];
  setTimeout(() => (toasts.value = toasts.value.filter(({ id }) => id !== toast.id)), SHOWN_MS);
}

/** Tell screen readers something that is seen otherwise. @param {string} text */
export function announce(text) {
  announced.value = text;
}

/** The region of messages. The shell has it once. */
export function StatusRegion() {
  return html`
    <div class="visually-hidden" role="status">${announced.value}</div>
    <div class="toasts" role="status">
      ${toasts.value.map(({ id, text, kind }) => html`<p key=${id} class=${`toast ${kind}`} dir="auto">${text}</p>`)}
    </div>
  `;
}
