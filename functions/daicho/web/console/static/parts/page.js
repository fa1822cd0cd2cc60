/** The head of a page: its title, what it is about, and its actions. */

import { useEffect } from "preact/hooks";
import { html } from "console/html.js";
import { config } from "console/session.js";
import { renderClock, renderUtc } from "console/format.js";
import { Time } from "console/parts/value.js";

/**
 * @param {{title: any, name?: string, trail?: {text: string, href: string}[], about?: any,
 *   children?: any}} props `name`: the title as text, if it is not; children: actions
 */
export function PageHeader({ title, name, trail = [], about, children }) {
  const text = name ?? String(title);
  useEffect(() => {
    document.title = `${text} · ${config.value?.title || "Console"}`;
  }, [text]);
  return html`<header class="page-head">
    <div>
      ${trail.length > 0 &&
      html`<nav aria-label="Breadcrumb" class="trail">
        ${trail.map(({ text: word, href }) => html`<a key=${href} href=${href}><bdi>${word}</bdi></a>`)}
      </nav>`}
      <h1><bdi>${title}</bdi></h1>
      ${about && html`<p class="muted">${about}</p>`}
    </div>
    ${children && html`<div class="actions">${children}</div>`}
  </header>`;
}

/**
 * How fresh a figure is: what kind of read it was, up to when it includes everything, and when it was
 * read. `as_of` is no age: later changes may be included too.
 * @param {{at?: Date | null, isLive?: boolean, kind?: "figure" | "list" | "item", data?: {as_of?: string | null, rolled_up?: boolean, uncertain?: boolean} | null}} props
 */
export function Freshness({ at, isLive = false, kind = "figure", data }) {
  const isNow = data ? data.rolled_up === false : isLive || kind === "item";
  const promise = {
    figure: isNow ? "Live" : "Rolled up, once a minute",
    list: "Shows a write within about 1.5 s",
    item: "Read strongly consistent",
  }[kind];
  if (!at && !data) return null;
  return html`<p class="freshness muted small">
    <i class=${isNow ? "dot live" : "dot"} aria-hidden="true"></i>
    <span>${promise}${data?.as_of && html`${" · includes everything up to "}<${Time} value=${data.as_of} />`}${data?.uncertain && " · uncertain"}</span>
    ${at && html`<span>· read at <time datetime=${renderUtc(at)} title=${renderUtc(at)} class="number">${renderClock(at)}</time></span>`}
  </p>`;
}

/**
 * The freshness of several figures: they all include everything up to the earliest of their times.
 * @param {({as_of?: string | null, rolled_up?: boolean} | null)[]} figures null: not read
 */
export function joinFreshness(figures) {
  const read = figures.flatMap((figure) => figure ?? []);
  const times = read.flatMap(({ as_of: time }) => time ?? []).sort();
  return { as_of: times.length === read.length ? times[0] : null, rolled_up: read.some(({ rolled_up: isRolledUp }) => isRolledUp !== false) };
}
