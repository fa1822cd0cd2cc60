/** Dialogues: the browser's own element holds the focus and closes on Escape. */

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { html } from "console/html.js";
import { leaveGuard } from "console/router.js";
import { Icon } from "console/parts/icons.js";

/**
 * @typedef {{title: string, text: string, confirm: string, cancel?: string, isDangerous?: boolean,
 *   typed?: string}} Question
 */

/** @type {import("@preact/signals").Signal<(Question & {answer: (yes: boolean) => void}) | null>} */
const question = signal(null);
const typed = signal("");

/**
 * A dialogue that is open while it is rendered.
 * @param {{title: string, onClose: () => void, children?: any, wide?: boolean}} props
 */
export function Dialog({ title, onClose, children, wide = false }) {
  const element = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    const opener = document.activeElement;
    element.current?.showModal();
    return () => opener instanceof HTMLElement && opener.focus();
  }, []);
  return html`<dialog
    ref=${element}
    class=${wide ? "dialog wide" : "dialog"}
    aria-label=${title}
    onCancel=${(/** @type {Event} */ event) => {
      event.preventDefault();
      onClose();
    }}
  >
    <header>
      <h2>${title}</h2>
      <button type="button" class="button quiet square" aria-label="Close" onClick=${onClose}>
        <${Icon} name="close" />
      </button>
    </header>
    ${children}
  </dialog>`;
}

/**
 * Ask the user; the answer is true if they confirm.
 * @param {Question} asked `typed`: text that must be typed to confirm
 * @returns {Promise<boolean>}
 */
export function ask(asked) {
  question.value?.answer(false);
  typed.value = "";
  return new Promise((resolve) => {
    question.value = {
      ...asked,
      answer: (yes) => {
        question.value = null;
        resolve(yes);
      },
    };
  });
}

/**
 * Ask before the page is left while something is typed. The answer ends this: what was typed is saved.
 * @param {boolean} isTyped
 */
export function useLeaveGuard(isTyped) {
  const end = () => {
    leaveGuard.ask = null;
  };
  useEffect(() => {
    leaveGuard.ask = isTyped
      ? () => ask({ title: "Leave without saving?", text: "What you typed is not saved.", confirm: "Leave", cancel: "Stay", isDangerous: true })
      : null;
    return end;
  }, [isTyped]);
  return end;
}

/** The dialogue of `ask`. The shell has it once. */
export function QuestionDialog() {
  const asked = question.value;
  if (!asked) return null;
  const isConfirmed = !asked.typed || typed.value === asked.typed;
  return html`<${Dialog} title=${asked.title} onClose=${() => asked.answer(false)}>
    <p dir="auto">${asked.text}</p>
    ${asked.typed &&
    html`<label class="field"
      ><span>Type <code dir="auto">${asked.typed}</code> to confirm</span>
      <input
        value=${typed.value}
        autocomplete="off"
        onInput=${(/** @type {any} */ event) => (typed.value = event.currentTarget.value)}
    /></label>`}
    <footer>
      <button type="button" class="button" autofocus onClick=${() => asked.answer(false)}>
        ${asked.cancel ?? "Cancel"}
      </button>
      <button
        type="button"
        class=${asked.isDangerous ? "button danger" : "button primary"}
        disabled=${!isConfirmed}
        onClick=${() => asked.answer(true)}
      >
        ${asked.confirm}
      </button>
    </footer>
  <//>`;
}
