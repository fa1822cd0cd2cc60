/** The start: what is in the stack, and the ways to each of it. */

import { html } from "console/html.js";
import { entities, fillRequest, listNeeded, listQueries, renderField, renderPlural } from "console/catalog.js";
import { makeHash } from "console/router.js";
import { request } from "console/request.js";
import { useLoad } from "console/load.js";
import { user } from "console/session.js";
import { renderNumber } from "console/format.js";
import { Empty } from "console/parts/states.js";
import { Icon } from "console/parts/icons.js";
import { Freshness, joinFreshness, PageHeader } from "console/parts/page.js";

export default function Home() {
  const all = [...entities.value.values()].filter((entity) => listQueries(entity, "search", "list", "create", "ranking").length);
  const counts = useLoad((signal) => readCounts(signal), [entities.value]);
  return html`<div class="page">
    <${PageHeader} title="Home" about=${html`Data of the tenant <b><bdi>${user.value?.tenant || "–"}</bdi></b>`} />
    ${!all.length &&
    html`<${Empty} title="Nothing is declared yet">Declare an entity, and it appears here with its searches, lists and figures.<//>`}
    <ul class="cards">
      ${all.map((entity) => html`<${EntityCard} key=${entity.name} entity=${entity} count=${counts.data?.counts.get(entity.name)} />`)}
    </ul>
    ${counts.data && counts.data.counts.size > 0 && html`<${Freshness} at=${counts.data.at} data=${joinFreshness(counts.data.figures)} />`}
  </div>`;
}

/** @param {number} count @param {string} word */
function countWays(count, word) {
  return `${count} ${word}${count > 1 ? "s" : ""}`;
}

/**
 * The numbers of items of all entities that are counted without groups.
 * @param {AbortSignal} signal
 */
async function readCounts(signal) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  /** @type {any[]} */
  const figures = [];
  const reads = [...entities.value.values()].map(async (entity) => {
    const total = listQueries(entity, "total").find((query) => !listNeeded(query).length && !query.required.length);
    if (!total) return;
    const filled = fillRequest(total, {});
    if (!filled) return;
    const answer = await request(filled.path, { query: filled.query, signal }).catch(() => null);
    if (!answer) return;
    figures.push(answer.data);
    counts.set(entity.name, answer.data.count);
  });
  await Promise.all(reads);
  return { counts, figures, at: new Date() };
}

/** @param {{entity: import("console/catalog.js").Entity, count: number | undefined}} props */
function EntityCard({ entity, count }) {
  const searches = listQueries(entity, "search");
  const lists = listQueries(entity, "list");
  const figures = listQueries(entity, "ranking", "total");
  const direct = lists.filter((query) => !listNeeded(query).length);
  return html`<li class="card entity">
    <h2>
      <a href=${makeHash(["entity", entity.name])}>${renderPlural(entity.name)}</a>
      ${count !== undefined && html`<span class="count number" title="From the last rollup">${renderNumber(count)}</span>`}
    </h2>
    <ul class="ways">
      ${searches.map(
        (query) => html`<li key=${query.name}>
          <a href=${makeHash(["search", query.operation.id])}><${Icon} name="search" />By ${query.searched.map(renderField).join(", ")}</a>
        </li>`,
      )}
      ${direct.map(
        (query) => html`<li key=${query.name}>
          <a href=${makeHash(["list", query.operation.id], { $view: query.name })}><${Icon} name="table" />${query.summary}</a>
        </li>`,
      )}
      ${lists.length > direct.length &&
      html`<li>
        <a href=${makeHash(["entity", entity.name])}
          ><${Icon} name="table" />${countWays(lists.length - direct.length, direct.length ? "more list" : "list")}</a
        >
      </li>`}
      ${figures.length > 0 &&
      html`<li>
        <a href=${makeHash(["entity", entity.name])}><${Icon} name="chart" />${countWays(figures.length, "figure")}</a>
      </li>`}
    </ul>
  </li>`;
}
