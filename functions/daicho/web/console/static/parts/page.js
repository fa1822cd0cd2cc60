/** The head of a page: its title, what it is about, and its actions. */

import { useEffect } from "preact/hooks";
import { html } from "console/html.js";
import { config } from "console/session.js";
import { renderClock, renderUtc } from "console/format.js";

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
 * How fresh a figure is: what kind of read it was, and when.
 * @param {{at: Date | null, isLive?: boolean, kind?: "figure" | "list" | "item"}} props
 */
export function Freshness({ at, isLive = false, kind = "figure" }) {
  const promise = {
    figure: isLive ? "Counted live" : "Total of the last rollup, once a minute",
    list: "Shows a write within about 1.5 s",
    item: "Read strongly consistent",
  }[kind];
  if (!at) return null;
  return html`<p class="freshness muted small">
    <i class=${isLive || kind === "item" ? "dot live" : "dot"} aria-hidden="true"></i>${promise} <span>· read at <time datetime=${renderUtc(at)} title=${renderUtc(at)} class="number">${renderClock(at)}</time></span>
  </p>`;
}
