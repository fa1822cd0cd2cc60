/** Light, dark, or as the system is; remembered. */

import { effect, signal } from "@preact/signals";

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
    try {
      localStorage.setItem(KEY, theme.value);
    } catch {
      return; // storage is refused: the theme holds until the page is left
    }
  });
}

/** @returns {Theme} */
function readTheme() {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === "light" || kept === "dark" ? kept : "system";
  } catch {
    return "system";
  }
}
