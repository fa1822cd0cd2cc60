/** Series over time, drawn by uPlot. Only pages with a series load it. */

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { html } from "console/html.js";
import { isDark } from "console/theme.js";
import { renderNumber } from "console/format.js";

/**
 * A series over time. uPlot keeps its colours and width, so it is made again when the theme or the
 * width changes, and destroyed when the page is left.
 * @param {{label: string, points: [number, number | null][], unit?: string, height?: number,
 *   kind?: "line" | "bars", renderX?: (seconds: number) => string}} props points: epoch seconds, value
 */
export function SeriesChart({ label, points, unit = "", height = 220, kind = "line", renderX = renderDay }) {
  const element = useRef(/** @type {HTMLDivElement | null} */ (null));
  const dark = isDark.value;
  useEffect(() => {
    const host = element.current;
    if (!host) return undefined;
    /** @type {any} */
    let plot = null;
    let width = 0;
    const draw = () => {
      if (host.clientWidth === width || !host.clientWidth) return;
      width = host.clientWidth;
      plot?.destroy();
      plot = new uPlot(makeOptions(host, width, height, label, unit, kind, renderX), splitPoints(points), host);
    };
    const observer = new ResizeObserver(draw);
    observer.observe(host);
    draw();
    return () => {
      observer.disconnect();
      plot?.destroy();
    };
  }, [points, dark, height, kind]);
  return html`<figure class="chart">
    <div ref=${element} style=${{ height: `${height}px` }} aria-hidden="true" />
    <figcaption class="visually-hidden">
      ${label}: ${points.map(([x, y]) => `${renderX(x)} ${y === null ? "unknown" : renderNumber(y)}${unit}`).join(", ")}
    </figcaption>
  </figure>`;
}

/** ISO dates, whatever the country. @param {number} seconds */
export function renderDay(seconds) {
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}

/**
 * @param {[number, number | null][]} points
 * @returns {[number[], (number | null)[]]}
 */
function splitPoints(points) {
  return [points.map(([x]) => x), points.map(([, y]) => y)];
}

/**
 * @param {HTMLElement} host
 * @param {number} width
 * @param {number} height
 * @param {string} label
 * @param {string} unit
 * @param {"line" | "bars"} kind
 * @param {(seconds: number) => string} renderX
 */
function makeOptions(host, width, height, label, unit, kind, renderX) {
  const style = getComputedStyle(host);
  const [accent, ink, line] = ["--chart", "--chart-ink", "--chart-line"].map((name) => resolveColor(host, name));
  const font = `11px ${style.fontFamily}`;
  const axis = { stroke: ink, font, grid: { stroke: line, width: 1 }, ticks: { show: false } };
  return {
    width,
    height,
    legend: { show: false },
    cursor: { y: false, points: { size: 7 } },
    scales: { x: { time: true, range: (/** @type {any} */ _, /** @type {number} */ low, /** @type {number} */ high) => padRange(low, high, kind) }, y: { range: (/** @type {any} */ _, /** @type {number} */ low, /** @type {number} */ high) => includeZero(low, high) } },
    axes: [
      { ...axis, grid: { show: false }, space: 90, size: 30, values: (/** @type {any} */ _, /** @type {number[]} */ all) => all.map(renderX) },
      { ...axis, size: 54, values: (/** @type {any} */ _, /** @type {number[]} */ all) => all.map((one) => `${renderNumber(one)}${unit}`) },
    ],
    series: [
      {},
      {
        label,
        stroke: accent,
        width: 2,
        fill: `color-mix(in srgb, ${accent} ${kind === "bars" ? 75 : 14}%, transparent)`,
        paths: kind === "bars" ? uPlot.paths.bars?.({ size: [0.6, 48], radius: 0.12 }) : undefined,
        points: { show: kind !== "bars" && host.clientWidth / 12 > 1, size: 5 },
        spanGaps: false,
      },
    ],
  };
}

/**
 * @param {number} low
 * @param {number} high
 * @returns {[number, number]}
 */
function includeZero(low, high) {
  return [Math.min(0, low), high > 0 ? high * 1.1 : 1];
}

/**
 * Bars are as wide as the time between two points: the first and the last need half of it more.
 * @param {number} low
 * @param {number} high
 * @param {"line" | "bars"} kind
 * @returns {[number, number]}
 */
function padRange(low, high, kind) {
  const pad = kind === "bars" ? Math.max(43_200, (high - low) / 22) : 0;
  return [low - pad, high + pad];
}

/**
 * A colour that a canvas understands: `light-dark()` is resolved by the browser.
 * @param {HTMLElement} host
 * @param {string} name of a custom property
 */
function resolveColor(host, name) {
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  host.append(probe);
  const color = getComputedStyle(probe).color;
  probe.remove();
  return color;
}
