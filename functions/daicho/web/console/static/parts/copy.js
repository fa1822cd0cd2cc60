/** Buttons that copy a text. */

import { useState } from "preact/hooks";
import { html } from "console/html.js";
import { Icon } from "console/parts/icons.js";
import { announce, showToast } from "console/parts/status.js";

const SHOWN_MS = 1_500;

/**
 * @param {{text: string | (() => string), label?: string, kind?: string}} props `text`: made when it
 *   is copied, if that takes long; `kind`: classes of the button
 */
export function CopyButton({ text, label = "Copy", kind = "" }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === "string" ? text : text());
    } catch {
      showToast("The browser does not let this page copy.", "failed");
      return;
    }
    setCopied(true);
    announce(`${label}: copied`);
    setTimeout(() => setCopied(false), SHOWN_MS);
  };
  return html`<button type="button" class=${`button small ${kind}`} onClick=${copy}>
    <${Icon} name=${isCopied ? "check" : "copy"} />${isCopied ? "Copied" : label}
  </button>`;
}
