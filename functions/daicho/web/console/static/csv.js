/** Items as CSV (RFC 4180) and as a file. */

const FORMULA = /^[=+\-@\t\r]/;
const NUMBER = /^-?\d+(\.\d+)?$/;
const NEEDS_QUOTES = /[",\r\n]/;

/**
 * Rows with a head. Values are those of the API with all digits, and objects are JSON. A text that a
 * spreadsheet would run as a formula gets an apostrophe before it.
 * @param {string[]} names of the fields
 * @param {Record<string, any>[]} items
 */
export function renderCsv(names, items) {
  const rows = [names, ...items.map((item) => names.map((name) => renderCell(item[name])))];
  return rows.map((cells) => `${cells.map(quote).join(",")}\r\n`).join("");
}

/** @param {any} value */
function renderCell(value) {
  if (value === null || value === undefined) return "";
  // A number with all its digits is an object too.
  const text = typeof value === "object" && !(value instanceof Number) ? JSON.stringify(value) : String(value);
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
}

/** @param {string} text */
function quote(text) {
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * Let the browser save a text. The mark at its beginning tells spreadsheets that it is UTF-8.
 * @param {string} name of the file
 * @param {string} text
 */
export function saveCsv(name, text) {
  const url = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
