/** Numbers, times and sizes as text. Decimals come as strings, and stay strings. */

const LANGUAGE = "en";
// A year is no thousand: digits are grouped from five on.
const numbers = new Intl.NumberFormat(LANGUAGE, { useGrouping: /** @type {any} */ ("min2") });
const percents = new Intl.NumberFormat(LANGUAGE, { style: "percent", maximumFractionDigits: 1 });
const times = new Intl.DateTimeFormat(LANGUAGE, { dateStyle: "medium", timeStyle: "short", hourCycle: "h23" });
const clocks = new Intl.DateTimeFormat(LANGUAGE, { timeStyle: "medium", hourCycle: "h23" });
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/;
const DECIMAL = /^-?\d+(\.\d+)?$/;

/**
 * A number with groups of digits. A decimal that is a string is not converted: no digit is lost.
 * @param {number | string} value
 */
export function renderNumber(value) {
  if (typeof value === "number") return numbers.format(value);
  if (!DECIMAL.test(value)) return value;
  const [whole, fraction] = value.split(".");
  const grouped = /\d{5}/.test(whole) ? whole.replace(/\B(?=(\d{3})+$)/g, ",") : whole;
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

/** @param {number} share of 1 */
export function renderPercent(share) {
  return percents.format(share);
}

/** @param {unknown} value */
export function isInstant(value) {
  return typeof value === "string" && INSTANT.test(value);
}

/** In the time zone of the browser. @param {string | Date} instant */
export function renderTime(instant) {
  const date = new Date(instant);
  return Number.isNaN(date.getTime()) ? String(instant) : times.format(date);
}

/** Hours, minutes and seconds. @param {Date} instant */
export function renderClock(instant) {
  return clocks.format(instant);
}

/** @param {string | Date} instant */
export function renderUtc(instant) {
  const date = new Date(instant);
  return Number.isNaN(date.getTime()) ? String(instant) : date.toISOString();
}

/** @param {number} bytes */
export function renderBytes(bytes) {
  if (bytes < 1_000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** The month of now, in UTC as the API's groups are: `2026-11`. @param {number} [back] */
export function getMonth(back = 0) {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)).toISOString().slice(0, 7);
}
