/** Icons of one weight, drawn on a grid of 16. They say nothing that the text beside does not say. */

import { html } from "console/html.js";

const PATHS = {
  home: "M2.5 7.2 8 2.7l5.5 4.5v5.6a.7.7 0 0 1-.7.7H3.2a.7.7 0 0 1-.7-.7zM6.5 13.5V9.3h3v4.2",
  search: "M7 12a5 5 0 1 0 0-10 5 5 0 0 0 0 10zm3.6-1.4L14 14",
  table: "M2.5 3.5h11v9h-11zM2.5 6.5h11M6.5 6.5v6",
  poll: "M3 13.5v-4M6.3 13.5v-8M9.7 13.5v-6M13 13.5v-11",
  chart: "M2.5 2.5v11h11M5 10.5l2.7-3.3 2 1.8 3.3-4.5",
  figures: "M2.5 13.5V8.5h3.7v5M6.2 13.5v-11h3.6v11M9.8 6h3.7v7.5h-11",
  keys: "M2 4.5h12v7H2zM4.5 7h.1M7 7h.1M9.5 7h.1M11.8 7h.1M5 9.3h6",
  limits: "M8 13.5a5.5 5.5 0 1 1 5.5-5.5M8 8l3-3",
  archive: "M2.5 3h11v3h-11zM3.5 6v7h9V6M6.5 8.8h3",
  jobs: "M8 4.5V8l2.3 1.5M13.5 8a5.5 5.5 0 1 1-11 0 5.5 5.5 0 0 1 11 0z",
  operate: "M8 5.8a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.4zM8 2v2M8 12v2M2 8h2M12 8h2M3.8 3.8l1.4 1.4M10.8 10.8l1.4 1.4M12.2 3.8l-1.4 1.4M5.2 10.8l-1.4 1.4",
  warning: "M8 2.8 14 13H2zM8 6.8v3M8 11.4v.1",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  close: "M4 4l8 8M12 4l-8 8",
  plus: "M8 3v10M3 8h10",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  code: "M5.5 4.5 2 8l3.5 3.5M10.5 4.5 14 8l-3.5 3.5",
  check: "M3 8.5 6.5 12 13 4.5",
  light: "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6zM8 1.8v1.4M8 12.8v1.4M1.8 8h1.4M12.8 8h1.4M3.6 3.6l1 1M11.4 11.4l1 1M12.4 3.6l-1 1M4.6 11.4l-1 1",
  dark: "M13.2 9.6A5.6 5.6 0 0 1 6.4 2.8a5.6 5.6 0 1 0 6.8 6.8z",
  system: "M2.5 3.5h11v7.5h-11zM6 13.5h4M8 11v2.5",
  down: "M4.5 6.5 8 10l3.5-3.5",
  right: "M6.5 4.5 10 8l-3.5 3.5",
  exit: "M6.5 2.8H3v10.4h3.5M10 5l3 3-3 3M13 8H6.5",
  refresh: "M13.3 6.2A5.6 5.6 0 0 0 3 5.4M2.7 9.8A5.6 5.6 0 0 0 13 10.6M13.3 3v3.2h-3.2M2.7 13V9.8h3.2",
};

/** @typedef {keyof typeof PATHS} IconName */

/** @param {{name: IconName}} props */
export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
    <path d=${PATHS[name]} />
  </svg>`;
}
