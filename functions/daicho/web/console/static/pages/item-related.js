/** What the stack derives from an item: the lists below it, and the figures that count it. */

import { html } from "console/html.js";
import { fillRequest, listAllQueries, listNeeded, makeQueryHash, resolveItem } from "console/catalog.js";
import { makeHash } from "console/router.js";
import { request } from "console/request.js";
import { useLoad } from "console/load.js";
import { Empty } from "console/parts/states.js";
import { Icon } from "console/parts/icons.js";
import { Freshness, joinFreshness } from "console/parts/page.js";
import { renderNumber } from "console/format.js";

const MAX_FIGURES = 8;

/**
 * @typedef {import("console/catalog.js").Query} Query
 * @typedef {{query: Query, values: Record<string, any>}} Related
 */

/** @param {{get: Query, item: Record<string, any>}} props */
export function Related({ get, item }) {
  const below = findBelow(get, item);
  const lists = below.filter(({ query }) => query.kind === "list");
  const rankings = below.filter(({ query }) => query.kind === "ranking");
  const counted = [...below.filter(({ query }) => query.kind === "total"), ...findTotals(get, item)].slice(0, MAX_FIGURES);
  const figures = useLoad((signal) => readFigures(counted, signal), [item]);
  if (!lists.length && !rankings.length && !counted.length) {
    return html`<${Empty} title="Nothing is derived from this item alone" />`;
  }
  return html`
    ${counted.length > 0 &&
    html`<section>
      <h2>Figures</h2>
      <ul class="figures">
        ${counted.map(({ query, values }, place) => {
          const figure = figures.data?.rows[place];
          return html`<li key=${query.name}>
            <a href=${makeHash(["charts", query.operation.id], { ...values, $view: query.name })}>${query.summary}</a>
            <b class="number">${figure ? renderNumber(figure.total ?? figure.count) : "–"}</b>
            ${figure?.rank && html`<span class="badge">rank ${figure.rank}</span>`}
          </li>`;
        })}
      </ul>
      ${figures.data && html`<${Freshness} at=${figures.data.at} data=${joinFreshness(figures.data.rows)} />`}
    </section>`}
    ${lists.length + rankings.length > 0 &&
    html`<section>
      <h2>Lists</h2>
      <ul class="ways boxed">
        ${[...lists, ...rankings].map(
          ({ query, values }) => html`<li key=${query.name + query.operation.id}>
            <a href=${makeAddress(query, values)}><${Icon} name=${query.kind === "list" ? "table" : "chart"} /><span>${query.summary}</span><code class="muted small">${query.operation.path}</code></a>
          </li>`,
        )}
      </ul>
    </section>`}
  `;
}

/** @param {Query} query @param {Record<string, any>} values */
function makeAddress(query, values) {
  if (query.kind === "ranking") return makeHash(["charts", query.operation.id], { ...values, $view: query.name });
  const hash = makeQueryHash("list", query, values);
  return `${hash}${hash.includes("?") ? "&" : "?"}${new URLSearchParams({ $view: query.name })}`;
}

/**
 * The queries on paths below the item's own, with its key in their variables.
 * @param {Query} get
 * @param {Record<string, any>} item
 * @returns {Related[]}
 */
function findBelow(get, item) {
  const own = get.operation.path.split("/");
  const isVariable = (/** @type {string} */ word) => word.startsWith("{");
  return listAllQueries("list", "total", "ranking").flatMap((query) => {
    const words = query.operation.path.split("/");
    const fits = words.length > own.length && own.every((word, place) => word === words[place] || (isVariable(word) && isVariable(words[place])));
    if (!fits) return [];
    const values = Object.fromEntries(
      own.flatMap((word, place) => (isVariable(word) ? [[words[place].slice(1, -1), item[word.slice(1, -1)]]] : [])),
    );
    const missing = listNeeded(query).filter((name) => values[name] === undefined);
    return query.kind !== "list" && missing.length ? [] : [{ query, values }];
  });
}

/**
 * The totals of the item's own entity, of the groups that it is counted in.
 * @param {Query} get
 * @param {Record<string, any>} item
 * @returns {Related[]}
 */
function findTotals(get, item) {
  return listAllQueries("total")
    .filter((query) => query.entity === get.entity && listNeeded(query).length)
    .flatMap((query) => {
      const values = Object.fromEntries(listNeeded(query).map((name) => [name, chooseValue(name, item)]));
      return Object.values(values).every((value) => typeof value === "string") ? [{ query, values }] : [];
    });
}

/** A month or a day is that of the item's first instant. @param {string} name @param {Record<string, any>} item */
function chooseValue(name, item) {
  if (item[name] !== undefined || (name !== "month" && name !== "day")) return item[name];
  const instant = item.at ?? item.date ?? item.created_at;
  return typeof instant === "string" ? instant.slice(0, name === "month" ? 7 : 10) : undefined;
}

/** @param {Related[]} counted @param {AbortSignal} signal */
async function readFigures(counted, signal) {
  const rows = await Promise.all(
    counted.map(async ({ query, values }) => {
      const filled = fillRequest(query, values);
      const answer = filled && (await request(filled.path, { query: filled.query, signal }).catch(() => null));
      return answer && resolveItem(query.operation).properties ? answer.data : null;
    }),
  );
  return { rows, at: new Date() };
}
