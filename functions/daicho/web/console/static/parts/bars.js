/** Bars of a ranking or a poll, as plain elements. */

import { html, joinClasses } from "console/html.js";
import { renderNumber, renderPercent } from "console/format.js";

/**
 * Bars of named values, longest first. The numbers are text, so a bar adds nothing for a screen
 * reader.
 * @param {{label: string, rows: {name: string, value: number | string, rank?: number | null,
 *   action?: any}[], showShares?: boolean}} props
 */
export function Bars({ label, rows, showShares = false }) {
  const highest = Math.max(1, ...rows.map(({ value }) => Number(value)));
  const sum = rows.reduce((before, { value }) => before + Number(value), 0);
  return html`<ol class=${joinClasses("bars", rows.some(({ rank }) => rank !== undefined) && "ranked")} aria-label=${label}>
    ${rows.map(
      ({ name, value, rank, action }) => html`<li key=${name}>
        ${rank !== undefined && html`<span class="rank number">${rank ?? "–"}</span>`}
        <span class="bar-name"><bdi title=${name}>${name}</bdi></span>
        <span class="bar-value number"
          >${renderNumber(value)}${showShares && html`<small class="muted"> ${renderPercent(sum ? Number(value) / sum : 0)}</small>`}</span
        >
        <span class="bar-track" aria-hidden="true"
          ><i style=${{ transform: `scaleX(${Math.max(0, Number(value)) / highest})` }}
        /></span>
        ${action && html`<span class="bar-action">${action}</span>`}
      </li>`,
    )}
  </ol>`;
}
