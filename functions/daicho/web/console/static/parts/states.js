/** What a page shows instead of data: that it is read, that there is none, or what went wrong. */

import { useEffect, useState } from "preact/hooks";
import { html } from "console/html.js";
import { Icon } from "console/parts/icons.js";

/** Grey rows in the place of those to come, so that nothing moves. @param {{rows?: number}} props */
export function Skeleton({ rows = 8 }) {
  return html`<div class="skeleton" role="status" aria-label="Loading">
    ${Array.from({ length: rows }, (_, place) => html`<div key=${place}><i /><i /><i /></div>`)}
  </div>`;
}

/**
 * There is nothing: why, and the next step.
 * @param {{title: string, children?: any, isPage?: boolean}} props `isPage`: it is all of the page
 */
export function Empty({ title, children, isPage = false }) {
  return html`<div class="empty">${isPage ? html`<h1>${title}</h1>` : html`<h2>${title}</h2>`}
    ${children && html`<div class="muted">${children}</div>`}</div>`;
}

/**
 * A refusal or a failure, with the id of the request, and a retry that obeys `Retry-After`.
 * @param {{error: any, onRetry?: () => void, compact?: boolean}} props
 */
export function ErrorState({ error, onRetry, compact = false }) {
  const wait = useCountdown(error);
  const fields = error.errors ?? [];
  return html`<div class=${compact ? "problem compact" : "problem"} role="alert">
    <${Icon} name="warning" />
    <div>
      <strong>${error.title ?? "This page has a fault"}</strong>
      <p dir="auto">${error.detail ?? error.message ?? String(error)}</p>
      ${fields.length > 0 &&
      html`<ul>
        ${fields.map(
          (/** @type {{field: string, message: string}} */ one) =>
            html`<li key=${one.field}><code>${one.field}</code> <bdi>${one.message}</bdi></li>`,
        )}
      </ul>`}
      ${error.id && html`<p class="muted small">Request <code>${error.id}</code></p>`}
    </div>
    ${onRetry &&
    html`<button type="button" class="button" disabled=${wait > 0} onClick=${onRetry}>
      ${wait > 0 ? `Try again in ${wait} s` : "Try again"}
    </button>`}
  </div>`;
}

/** The seconds that remain of an error's `Retry-After`. @param {any} error */
function useCountdown(error) {
  const [wait, setWait] = useState(Math.ceil(error.retryAfter ?? 0));
  useEffect(() => {
    const end = Date.now() + (error.retryAfter ?? 0) * 1000;
    setWait(Math.ceil(error.retryAfter ?? 0));
    const timer = setInterval(() => {
      const rest = Math.max(0, Math.ceil((end - Date.now()) / 1000));
      setWait(rest);
      if (!rest) clearInterval(timer);
    }, 250);
    return () => clearInterval(timer);
  }, [error]);
  return wait;
}

/** The state of a job: running, succeeded or failed. @param {{state: string}} props */
export function JobState({ state }) {
  const kind = { failed: "bad", succeeded: "good" }[state] ?? "";
  return html`<span class=${`badge ${kind}`}>${state}</span>`;
}
