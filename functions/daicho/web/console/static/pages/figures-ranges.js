/** Ranges of time as they are typed: local dates of a time zone, or local hours. */

/** The buckets of a range that nobody has chosen. */
export const BUCKETS = 30;

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
 * A bucket as it is read, by the clock of the zone. An hour has its offset, as an hour of autumn
 * comes twice; its label is its beginning in UTC. The whole range has no label.
 * @param {{label: string, start: string, end: string}} bucket
 * @param {string} zone
 */
export function renderLabel({ label, start, end }, zone) {
  if (!label) return [start, end].map((edge) => renderLocal(new Date(edge), zone).replace("T00:00", "").replace("T", " ")).join(" – ");
  if (!label.endsWith("Z")) return label;
  const instant = new Date(label);
  return `${renderLocal(instant, zone).replace("T", " ")} ${renderOffset(instant, zone)}`;
}

/** By how much the clock of a zone is ahead of UTC: `+02:00`. @param {Date} instant @param {string} zone */
function renderOffset(instant, zone) {
  const minutes = Math.round((Date.parse(`${renderLocal(instant, zone)}Z`) - instant.getTime()) / 60_000);
  return `${minutes < 0 ? "-" : "+"}${new Date(Math.abs(minutes) * 60_000).toISOString().slice(11, 16)}`;
}

/**
 * The beginning of the hour of an instant: `2026-11-24T13:00`, with the offset if the clock shows
 * the hour twice.
 * @param {Date} instant
 * @param {string} zone
 */
function renderHour(instant, zone) {
  const hour = renderLocal(instant, zone).slice(0, 13);
  const isTwice = [-HOUR_MS, HOUR_MS].some((later) => renderLocal(new Date(instant.getTime() + later), zone).startsWith(hour));
  return `${hour}:00${isTwice ? renderOffset(instant, zone) : ""}`;
}

/**
 * The range of the last buckets, with the one of now.
 * @param {{zone: string, first_weekday: number}} series
 * @param {string} step
 * @param {Date} now
 * @returns {{from: string, to: string}} dates; local times for hours
 */
export function makeRange({ zone, first_weekday: firstWeekday }, step, now) {
  if (step === "hour") {
    const [from, to] = [1 - BUCKETS, 1].map((hours) => renderHour(new Date(now.getTime() + hours * HOUR_MS), zone));
    return { from, to };
  }
  const [year, month, day] = renderLocal(now, zone).slice(0, 10).split("-").map(Number);
  const size = MONTHS[/** @type {keyof typeof MONTHS} */ (step)];
  if (size) {
    const first = Math.floor((year * 12 + month - 1) / size) * size;
    const render = (/** @type {number} */ place) => renderDate(Math.floor(place / 12), place % 12, 1);
    return { from: render(first - (BUCKETS - 1) * size), to: render(first + size) };
  }
  const days = step === "week" ? 7 : 1;
  const weekday = (new Date(Date.UTC(year, month - 1, day)).getUTCDay() + 6) % 7; // 0 is Monday
  const first = day - ((weekday - firstWeekday + 7) % days);
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
