/** A request as a command to copy. */

import { useState } from "preact/hooks";
import { html } from "console/html.js";
import { makeUrl, renderCurl, sentRequests } from "console/request.js";
import { CopyButton } from "console/parts/copy.js";
import { Dialog } from "console/parts/dialog.js";
import { Icon } from "console/parts/icons.js";
import { renderClock } from "console/format.js";

/**
 * A button that shows a request as curl.
 * @param {{path: string, query?: import("console/request.js").Query, method?: string, body?: any,
 *   headers?: Record<string, string>, label?: string}} props
 */
export function CurlButton({ path, query, method = "GET", body, headers = {}, label = "curl" }) {
  const [isOpen, setOpen] = useState(false);
  const text = () =>
    renderCurl({
      method,
      url: makeUrl(path, query).href,
      headers: body === undefined ? headers : { ...headers, "Content-Type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
    });
  return html`<button type="button" class="button quiet" onClick=${() => setOpen(true)}>
      <${Icon} name="code" />${label}
    </button>
    ${isOpen &&
    html`<${Dialog} title="The request as curl" wide onClose=${() => setOpen(false)}>
      <p class="muted">The shell needs an ID token in <code>$TOKEN</code>.</p>
      <${CodeBlock} text=${text()} label="curl command" />
    <//>`}`;
}

/** The last requests of this page, each as curl. @param {{onClose: () => void}} props */
export function RecentRequests({ onClose }) {
  return html`<${Dialog} title="Recent requests" wide onClose=${onClose}>
    <p class="muted">What this page has sent, newest first. The token is left out.</p>
    <ol class="requests">
      ${sentRequests.map(
        (sent) =>
          html`<li key=${sent.at.getTime() + sent.url}>
            <details>
              <summary>
                <span class=${`badge ${sent.status && sent.status < 400 ? "good" : "bad"}`}>${sent.status ?? "–"}</span>
                <code><b>${sent.method}</b> ${new URL(sent.url).pathname}${new URL(sent.url).search}</code>
                <span class="muted number">${sent.ms === null ? "" : `${sent.ms} ms`}</span>
              </summary>
              <p class="muted small">
                ${renderClock(sent.at)}${sent.id && html` · request <code>${sent.id}</code>`}
              </p>
              <${CodeBlock} text=${renderCurl(sent)} label="curl command" />
            </details>
          </li>`,
      )}
    </ol>
  <//>`;
}

/**
 * Text to copy.
 * @param {{text: string, label: string}} props
 */
export function CodeBlock({ text, label }) {
  return html`<div class="code">
    <pre tabindex="0" role="region" aria-label=${label} dir="ltr">${text}</pre>
    <${CopyButton} text=${text} />
  </div>`;
}
