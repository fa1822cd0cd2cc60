/**
 * Values as text. Whatever a field contains — markup, marks of writing direction, 64 KB — is shown
 * as text in its own direction, and a long one in part.
 */

import { useState } from "preact/hooks";
import { html } from "console/html.js";
import { markMatches } from "console/normalise.js";
import { isInstant, isNumber, renderBytes, renderTime, renderUtc } from "console/format.js";

const CELL_CHARACTERS = 120;
const SHOWN_CHARACTERS = 2_000;

/** An instant in local time; UTC is in the title. @param {{value: string}} props */
export function Time({ value }) {
  return html`<time datetime=${value} title=${renderUtc(value)}>${renderTime(value)}</time>`;
}

/**
 * A text with the matches of a keyword marked.
 * @param {{text: string, keyword?: string}} props
 */
export function Marked({ text, keyword = "" }) {
  if (!keyword) return html`<bdi>${text}</bdi>`;
  const parts = markMatches(text, keyword);
  return html`<bdi
    >${parts.map((part, place) => (part.isMatch ? html`<mark key=${place}>${part.text}</mark>` : part.text))}</bdi
  >`;
}

/**
 * A value in a cell of a table: one line.
 * @param {{value: any, keyword?: string}} props
 */
export function CellValue({ value, keyword }) {
  if (value === null || value === undefined || value === "") return html`<span class="faint">–</span>`;
  // Without groups of digits: it can be copied into a form.
  if (isNumber(value)) return html`<span class="number">${String(value)}</span>`;
  if (typeof value === "boolean") return html`<span class="badge">${value ? "yes" : "no"}</span>`;
  if (isInstant(value)) return html`<${Time} value=${value} />`;
  if (typeof value === "string") return html`<${Marked} text=${cutText(value, CELL_CHARACTERS)} keyword=${keyword} />`;
  if (Array.isArray(value)) {
    if (!value.length) return html`<span class="faint">–</span>`;
    if (value.every((one) => isNumber(one) || typeof one !== "object")) {
      return html`<${Marked} text=${cutText(value.join(", "), CELL_CHARACTERS)} keyword=${keyword} />`;
    }
    return html`<span class="muted">${value.length} ${value.length === 1 ? "entry" : "entries"}</span>`;
  }
  const texts = Object.values(value);
  if (texts.length && texts.every((one) => typeof one === "string")) {
    return html`<${Marked} text=${cutText(texts.join(", "), CELL_CHARACTERS)} keyword=${keyword} />`;
  }
  return html`<span class="muted">${texts.length ? `${texts.length} fields` : "–"}</span>`;
}

/** A whole value: a long text in part, until all of it is wanted. @param {{value: any}} props */
export function FullValue({ value }) {
  if (typeof value === "string" && !isInstant(value)) {
    return value ? html`<${LongText} text=${value} />` : html`<span class="faint">empty</span>`;
  }
  if (Array.isArray(value) && value.length && value.every((one) => typeof one === "string")) {
    return html`<ul class="chips">
      ${value.map((one) => html`<li key=${one}><bdi>${cutText(one, CELL_CHARACTERS)}</bdi></li>`)}
    </ul>`;
  }
  if (value !== null && typeof value === "object" && Object.keys(value).length) {
    return html`<${LongText} text=${JSON.stringify(value, null, 2)} isCode />`;
  }
  return html`<${CellValue} value=${value} />`;
}

/**
 * A text of any length.
 * @param {{text: string, isCode?: boolean}} props
 */
export function LongText({ text, isCode = false }) {
  const [isWhole, setWhole] = useState(false);
  const isLong = text.length > SHOWN_CHARACTERS;
  const shown = isLong && !isWhole ? cutText(text, SHOWN_CHARACTERS) : text;
  return html`<div class="long">
    ${isCode
      ? html`<pre dir="ltr" tabindex="0" role="region" aria-label="JSON">${shown}</pre>`
      : html`<p dir="auto">${shown}</p>`}
    ${isLong &&
    html`<button type="button" class="button small" aria-expanded=${isWhole} onClick=${() => setWhole(!isWhole)}>
      ${isWhole ? "Show less" : `Show all (${renderBytes(new Blob([text]).size)})`}
    </button>`}
  </div>`;
}

/** JSON as it is stored. @param {{value: any}} props */
export function JsonView({ value }) {
  return html`<${LongText} text=${JSON.stringify(value, null, 2)} isCode />`;
}

/**
 * @param {string} text
 * @param {number} most
 */
function cutText(text, most) {
  if (text.length <= most) return text;
  const end = /[\ud800-\udbff]/.test(text.charAt(most - 1)) ? most - 1 : most; // no half of a pair
  return `${text.slice(0, end)}…`;
}
