/** Series over time, drawn by uPlot. Only pages with a series load it. */

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { html } from "console/html.js";
import { isDark } from "console/theme.js";
import { renderNumber } from "console/format.js";

/**
 * @typedef {"line" | "bars" | "histogram"} Kind bars of a histogram touch
 * @typedef {{label: string, points: [number, number | null][], unit?: string, height?: number,
 *   kind?: Kind, renderX?: (seconds: number) => string, labels?: string[], caption?: string}} Chart
 */

const BARS = { bars: [0.6, 48], histogram: [0.96, 400] };
const WHOLE_STEPS = [1, 2, 5].flatMap((digit) => [1, 10, 100, 1_000, 10_000].map((power) => digit * power)).sort((a, b) => a - b);
const PIXELS_OF_CHARACTER = 7;

/**
 * A series over time. uPlot keeps its colours and width, so it is made again when the theme or the
 * width changes, and destroyed when the page is left.
 * @param {Chart} props points: epoch seconds and value. With `labels` they are places in it, at
 *   equal distances. `caption`: what a screen reader hears instead of every value
 */
export function SeriesChart(props) {
  const { label, points, unit = "", height = 220, kind = "line", renderX = renderDay, labels, caption } = props;
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
      plot = new uPlot(makeOptions(host, width, { label, points, unit, height, kind, renderX, labels }), splitPoints(points), host);
    };
    const observer = new ResizeObserver(draw);
    observer.observe(host);
    draw();
    return () => {
      observer.disconnect();
      plot?.destroy();
    };
  }, [points, labels, dark, height, kind]);
  return html`<figure class="chart">
    <div ref=${element} style=${{ height: `${height}px` }} aria-hidden="true" />
    <figcaption class="visually-hidden">
      ${caption ?? `${label}: ${points.map(([x, y]) => `${renderX(x)} ${y === null ? "unknown" : renderNumber(y)}${unit}`).join(", ")}`}
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
 * @param {Required<Omit<Chart, "labels" | "caption">> & {labels?: string[]}} chart
 */
function makeOptions(host, width, { label, points, unit, height, kind, renderX, labels }) {
  const style = getComputedStyle(host);
  const [accent, ink, line] = ["--chart", "--chart-ink", "--chart-line"].map((name) => resolveColor(host, name));
  const font = `11px ${style.fontFamily}`;
  const axis = { stroke: ink, font, grid: { stroke: line, width: 1 }, ticks: { show: false } };
  const bars = BARS[/** @type {keyof typeof BARS} */ (kind)];
  const longest = Math.max(0, ...(labels ?? []).map(({ length }) => length));
  const named = labels
    ? { incrs: WHOLE_STEPS, space: longest * PIXELS_OF_CHARACTER + 14, values: (/** @type {any} */ _, /** @type {number[]} */ all) => all.map((place) => labels[place] ?? "") }
    : { space: 90, values: (/** @type {any} */ _, /** @type {number[]} */ all) => all.map(renderX) };
  return {
    width,
    height,
    legend: { show: false },
    cursor: { y: false, points: { size: 7 } },
    scales: {
      x: { time: !labels, range: (/** @type {any} */ _, /** @type {number} */ low, /** @type {number} */ high) => padRange(low, high, kind, Boolean(labels)) },
      y: { range: (/** @type {any} */ _, /** @type {number} */ low, /** @type {number} */ high) => includeZero(low, high) },
    },
    axes: [
      { ...axis, grid: { show: false }, size: 30, ...named },
      { ...axis, size: measureAxis, values: (/** @type {any} */ _, /** @type {number[]} */ all) => all.map((one) => `${renderNumber(one)}${unit}`) },
    ],
    series: [
      {},
      {
        label,
        stroke: accent,
        width: 2,
        fill: `color-mix(in srgb, ${accent} ${bars ? 75 : 14}%, transparent)`,
        paths: bars ? uPlot.paths.bars?.({ size: /** @type {any} */ (bars), radius: kind === "bars" ? 0.12 : 0 }) : undefined,
        points: { show: !bars && host.clientWidth / 12 > 1, size: width > points.length * 8 ? 5 : 3 },
        spanGaps: false,
      },
    ],
  };
}

/**
 * The width of the axis of values, so that a long number is not cut.
 * @param {any} _
 * @param {string[] | null} texts
 */
function measureAxis(_, texts) {
  return Math.max(54, ...(texts ?? []).map(({ length }) => length * PIXELS_OF_CHARACTER + 12));
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
 * @param {Kind} kind
 * @param {boolean} isNamed the points are places, at distances of 1
 * @returns {[number, number]}
 */
function padRange(low, high, kind, isNamed) {
  if (isNamed) return [low - 0.6, high + 0.6];
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
