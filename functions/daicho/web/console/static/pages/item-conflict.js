/** Somebody else was faster: both sides of each field, and the choice. */

import { useState } from "preact/hooks";
import { html } from "console/html.js";
import { renderName } from "console/catalog.js";
import { renderDraft } from "console/parts/fields.js";
import { LongText } from "console/parts/value.js";

/**
 * @param {{fields: {name: string, schema: any}[], base: any, mine: Record<string, any>, stored: any,
 *   onChoose: (draft: Record<string, any>) => void, onCancel: () => void}} props
 *   `base`: what both began with; `mine`: the draft; `stored`: what is stored now
 */
export function Conflict({ fields, base, mine, stored, onChoose, onCancel }) {
  const sides = fields
    .map(({ name, schema }) => {
      const before = renderDraft(base[name], schema);
      const theirs = renderDraft(stored[name], schema);
      const own = mine[name] ?? before;
      return { name, before, own, theirs, isMine: own !== before, isTheirs: theirs !== before };
    })
    .filter(({ own, theirs }) => own !== theirs);
  // Where only one side changed a field, that side is chosen already.
  const [chosen, setChosen] = useState(() => new Map(sides.map(({ name, isMine }) => [name, isMine ? "mine" : "stored"])));
  const both = sides.filter(({ isMine, isTheirs }) => isMine && isTheirs).length;
  const merge = () => {
    const draft = { ...mine };
    for (const { name, own, theirs } of sides) draft[name] = chosen.get(name) === "mine" ? own : theirs;
    onChoose(draft);
  };
  return html`<section class="conflict" aria-labelledby="conflict-title">
    <h2 id="conflict-title" tabindex="-1" ref=${(/** @type {any} */ element) => element?.focus()}>It was changed meanwhile</h2>
    <p class="muted">
      Somebody saved version ${stored.version ?? "…"} while you were editing version ${base.version ?? "…"}.
      ${both ? `${both === 1 ? "One field was" : `${both} fields were`} changed on both sides.` : "You changed different fields."}
      Choose what to keep.
    </p>
    ${sides.map(
      ({ name, own, theirs, isMine, isTheirs }) => html`<fieldset key=${name} class="sides">
        <legend>${renderName(name)}${isMine && isTheirs && html` <span class="badge bad">both changed</span>`}</legend>
        ${[
          { id: "mine", title: "Mine", text: own },
          { id: "stored", title: "Stored", text: theirs },
        ].map(
          ({ id, title, text }) => html`<label key=${id} class="version-side">
            <span
              ><input type="radio" name=${`side-${name}`} value=${id} checked=${chosen.get(name) === id} onChange=${() => setChosen(new Map(chosen).set(name, id))} />
              ${title}</span
            >
            ${text === "" ? html`<span class="faint">empty</span>` : html`<${LongText} text=${String(text)} />`}
          </label>`,
        )}
      </fieldset>`,
    )}
    <footer class="form-foot">
      <button type="button" class="button" onClick=${onCancel}>Back to the form</button>
      <button type="button" class="button primary" onClick=${merge}>Save the choice</button>
    </footer>
  </section>`;
}
