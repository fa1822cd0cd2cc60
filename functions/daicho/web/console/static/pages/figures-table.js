/** Figures as a table: each text as the API has sent it, none shortened or rounded. */

import { useMemo } from "preact/hooks";
import { html } from "console/html.js";
import { Table } from "console/parts/table.js";

const REM_OF_CHARACTER = 0.62;
const REM_OF_PADDING = 2;
const LEAST_REM = 5;
const ROW_PX = 40;
const MOST_ROWS = 11;

/**
 * A table of texts; the first column names the row.
 * @param {{label: string, titles: string[], rows: (string | null)[][]}} props null: no value
 */
export function FigureTable({ label, titles, rows }) {
  const columns = useMemo(() => titles.map((title, place) => makeColumn(title, place, rows)), [label, titles.join(), rows]);
  return html`<div class="figure-table" style=${{ height: `${(Math.min(rows.length, MOST_ROWS) + 1) * ROW_PX + 14}px` }}><${Table} label=${label} columns=${columns} rows=${rows} /></div>`;
}

/** @param {string} title @param {number} place @param {(string | null)[][]} rows */
function makeColumn(title, place, rows) {
  const longest = rows.reduce((most, row) => Math.max(most, row[place]?.length ?? 1), title.length);
  const rem = Math.max(LEAST_REM, Math.ceil(longest * REM_OF_CHARACTER + REM_OF_PADDING));
  const render = (/** @type {(string | null)[]} */ row) =>
    row[place] === null ? html`<span class="faint">–</span>` : html`<span class="number">${row[place]}</span>`;
  return { name: `${place}`, title, width: `minmax(${rem}rem, 1fr)`, isNumber: place > 0, render };
}
