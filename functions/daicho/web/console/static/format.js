/**
 * Numbers, times and sizes as text. A number of JSON keeps the text that it has there: JavaScript's
 * own numbers have 15 to 17 digits. Decimals come as strings, and stay strings.
 */

const LANGUAGE = "en";
const percents = new Intl.NumberFormat(LANGUAGE, { style: "percent", maximumFractionDigits: 1 });
const times = new Intl.DateTimeFormat(LANGUAGE, { dateStyle: "medium", timeStyle: "short", hourCycle: "h23" });
const clocks = new Intl.DateTimeFormat(LANGUAGE, { timeStyle: "medium", hourCycle: "h23" });
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/;
const DECIMAL = /^-?\d+(\.\d+)?$/;

/** A number whose text JavaScript would change: `9007199254740993`, `1.0`. For a chart it is a number. */
export class ExactNumber extends Number {
  #text;

  /** @param {string} text as JSON has it */
  constructor(text) {
    super(text);
    this.#text = text;
  }

  toString() {
    return this.#text;
  }

  toJSON() {
    return /** @type {any} */ (JSON).rawJSON(this.#text);
  }
}

/** @param {unknown} value */
export function isNumber(value) {
  return typeof value === "number" || value instanceof ExactNumber;
}

/**
 * The value of a JSON text. `JSON.stringify` writes each of its numbers as the text has it.
 * @param {string} text
 */
export function parseJson(text) {
  if (!("rawJSON" in JSON)) {
    throw new Error("This browser changes large numbers. Update it: Chrome 114, Firefox 135 or Safari 18.4 is needed.");
  }
  const keepText = (/** @type {string} */ _, /** @type {any} */ value, /** @type {{source: string}} */ { source }) =>
    typeof value === "number" && String(value) !== source ? new ExactNumber(source) : value;
  return JSON.parse(text, /** @type {any} */ (keepText));
}

/**
 * A number with groups of digits. No digit is lost. A year is no thousand: digits are grouped from
 * five on.
 * @param {number | string | ExactNumber} value
 */
export function renderNumber(value) {
  const text = String(value);
  if (!DECIMAL.test(text)) return text;
  const [whole, fraction] = text.split(".");
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
