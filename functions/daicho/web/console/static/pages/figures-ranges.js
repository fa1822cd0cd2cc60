/** Ranges of time as they are typed: local dates of a time zone, or local hours. */

/** From the finest to the coarsest. */
export const STEPS = ["hour", "day", "week", "month", "quarter", "year"];
/** The buckets of a range that nobody has chosen. */
export const BUCKETS = 30;
/** The zone of the browser. */
export const browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

const HOUR_MS = 3_600_000;
const MONTHS = { month: 1, quarter: 3, year: 12 };

/**
 * The local time of an instant: `2026-11-24T13:05`.
 * @param {Date} instant
 * @param {string} zone a name of the IANA database
 */
export function renderLocal(instant, zone) {
  const parts = Object.fromEntries(makeFormat(zone).formatToParts(instant).map(({ type, value }) => [type, value]));
  return `${parts.year}-${parts.month}-${parts.day}T${parts.hour}:${parts.minute}`;
}

/**
 * The label of a bucket as it is read. An hour is labelled by its beginning in UTC, and is shown by
 * the clock of the zone with its offset: an hour of autumn comes twice.
 * @param {string} label
 * @param {string} zone
 */
export function renderLabel(label, zone) {
  if (!label.endsWith("Z")) return label;
  const instant = new Date(label);
  const local = renderLocal(instant, zone);
  const offset = Math.round((Date.parse(`${local}Z`) - instant.getTime()) / 60_000);
  const clock = new Date(Math.abs(offset) * 60_000).toISOString().slice(11, 16);
  return `${local.replace("T", " ")} ${offset < 0 ? "-" : "+"}${clock}`;
}

/**
 * The range of the last buckets, with the one of now.
 * @param {string} step
 * @param {string} zone
 * @param {Date} now
 * @returns {{from: string, to: string}} dates; local times for hours
 */
export function makeRange(step, zone, now) {
  if (step === "hour") {
    const render = (/** @type {number} */ hours) =>
      `${renderLocal(new Date(now.getTime() + hours * HOUR_MS), zone).slice(0, 13)}:00`;
    return { from: render(1 - BUCKETS), to: render(1) };
  }
  const [year, month, day] = renderLocal(now, zone).slice(0, 10).split("-").map(Number);
  const size = MONTHS[/** @type {keyof typeof MONTHS} */ (step)];
  if (size) {
    const first = Math.floor((year * 12 + month - 1) / size) * size;
    const render = (/** @type {number} */ place) => renderDate(Math.floor(place / 12), place % 12, 1);
    return { from: render(first - (BUCKETS - 1) * size), to: render(first + size) };
  }
  const days = step === "week" ? 7 : 1;
  const sinceMonday = step === "week" ? (new Date(Date.UTC(year, month - 1, day)).getUTCDay() + 6) % 7 : 0;
  const first = day - sinceMonday;
  return {
    from: renderDate(year, month - 1, first - (BUCKETS - 1) * days),
    to: renderDate(year, month - 1, first + days),
  };
}

/** @param {number} year @param {number} month from 0 @param {number} day may be beyond the month */
function renderDate(year, month, day) {
  return new Date(Date.UTC(year, month, day)).toISOString().slice(0, 10);
}

/** @param {string} zone */
function makeFormat(zone) {
  const digits = /** @type {const} */ ("2-digit");
  const options = { year: /** @type {const} */ ("numeric"), month: digits, day: digits, hour: digits, minute: digits };
  try {
    return new Intl.DateTimeFormat("en", { ...options, hourCycle: "h23", timeZone: zone });
  } catch {
    return new Intl.DateTimeFormat("en", { ...options, hourCycle: "h23", timeZone: "UTC" }); // newer than the browser
  }
}
