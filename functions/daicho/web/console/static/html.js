/** Templates: `html` makes Preact elements from tagged text, as markup is written. */

import { h } from "preact";
import htm from "htm";

/** @type {(strings: TemplateStringsArray, ...values: any[]) => any} */
export const html = htm.bind(h);

/**
 * The names that hold, joined as the value of `class`.
 * @param {...(string | false | null | undefined)} names
 */
export function joinClasses(...names) {
  return names.filter(Boolean).join(" ");
}
