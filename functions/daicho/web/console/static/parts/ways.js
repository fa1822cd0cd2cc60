/** Queries under a heading, each as a link to the page that shows it. */

import { html } from "console/html.js";
import { makeHash } from "console/router.js";
import { Icon } from "console/parts/icons.js";

const ICONS = { search: "search", list: "table", ranking: "poll" };

/** @param {{title: string, page: string, queries: import("console/catalog.js").Query[]}} props */
export function Ways({ title, page, queries }) {
  if (!queries.length) return null;
  return html`<section>
    <h2>${title}</h2>
    <ul class="ways boxed">
      ${queries.map(
        (query) => html`<li key=${query.name + query.operation.id}>
          <a href=${makeHash([page, query.operation.id], page === "search" ? {} : { $view: query.name })}
            ><${Icon} name=${ICONS[/** @type {keyof typeof ICONS} */ (query.kind)] ?? "chart"} /><span>${query.summary}</span
            ><code class="muted small">${query.operation.path}</code></a
          >
        </li>`,
      )}
    </ul>
  </section>`;
}
