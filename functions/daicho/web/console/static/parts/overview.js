/** Figures that can be opened, by entity. */

import { html } from "console/html.js";
import { renderPlural } from "console/catalog.js";
import { Ways } from "console/parts/ways.js";
import { PageHeader } from "console/parts/page.js";
import { Empty } from "console/parts/states.js";

/** @param {{page: string, title: string, about: string, queries: import("console/catalog.js").Query[]}} props */
export function Overview({ page, title, about, queries }) {
  const entities = [...new Set(queries.map(({ entity }) => entity ?? ""))];
  return html`<div class="page">
    <${PageHeader} title=${title} about=${about} />
    ${!queries.length && html`<${Empty} title="No figures are declared">An aggregate appears here when it is declared.<//>`}
    ${entities.map((entity) => html`<${Ways} key=${entity} title=${renderPlural(entity)} page=${page} queries=${queries.filter((query) => query.entity === entity)} />`)}
  </div>`;
}
