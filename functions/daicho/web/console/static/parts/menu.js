/** A button with a panel below it. The browser closes the panel on Escape and on a click elsewhere. */

import { useId, useRef, useState } from "preact/hooks";
import { html } from "console/html.js";
import { Icon } from "console/parts/icons.js";

const WIDTH = 260; // pixels, as the style has it

/** @param {{label: string, icon: import("console/parts/icons.js").IconName, kind?: string, children?: any}} props */
export function Menu({ label, icon, kind = "quiet", children }) {
  const id = useId();
  const button = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const [isOpen, setOpen] = useState(false);
  const follow = (/** @type {any} */ event) => {
    const { style } = event.currentTarget;
    setOpen(event.newState === "open");
    if (event.newState !== "open" || !button.current) return;
    const { bottom, right } = button.current.getBoundingClientRect();
    const { clientWidth } = document.documentElement;
    style.top = `${bottom + 4}px`;
    style.right = `${Math.max(8, Math.min(clientWidth - right, clientWidth - WIDTH - 8))}px`;
  };
  return html`<button type="button" class=${`button ${kind}`} ref=${button} popovertarget=${id} aria-haspopup="dialog">
      <${Icon} name=${icon} />${label}
    </button>
    <div class="menu" id=${id} popover="auto" role="dialog" aria-label=${label} onBeforeToggle=${follow}>
      ${isOpen && children}
    </div>`;
}
