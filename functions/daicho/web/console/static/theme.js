/** Light, dark, or as the system is; remembered. */

import { effect, signal } from "@preact/signals";
import { readStored, writeStored } from "console/storage.js";

/** @typedef {"system" | "light" | "dark"} Theme */

const KEY = "daicho.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

/** @type {import("@preact/signals").Signal<Theme>} */
export const theme = signal(readTheme());
/** Whether the page is dark now: charts are drawn again when it changes. */
export const isDark = signal(dark.matches);

/** Apply the theme now and whenever it changes. Call it once. */
export function startTheme() {
  const apply = () => {
    document.documentElement.dataset.theme = theme.value;
    isDark.value = theme.value === "dark" || (theme.value === "system" && dark.matches);
  };
  dark.addEventListener("change", apply);
  effect(() => {
    apply();
    writeStored(KEY, theme.value);
  });
}

/** @returns {Theme} */
function readTheme() {
  const kept = readStored(KEY);
  return kept === "light" || kept === "dark" ? kept : "system";
}
