/** The limits of a tenant: those of its entities with what is used, and those of every request. */

import { html } from "console/html.js";
import { fillRequest, listAllQueries, listNeeded, renderPlural } from "console/catalog.js";
import { renderNumber } from "console/format.js";
import { useLoad } from "console/load.js";
import { request } from "console/request.js";
import { Freshness, PageHeader } from "console/parts/page.js";

const REQUESTS = [
  ["Items of a page", "100", "A larger limit is refused with 422."],
  ["Items of a page together", "2 MB", "The page ends early, with a cursor."],
  ["An item", "400 KB", "422, which names the largest field."],
  ["A body", "1 MB, or 5.5 MB for split items", "413"],
  ["A keyword", "64 characters, 5 words", "422"],
  ["A repeat under one Idempotency-Key", "24 hours", "Later it is a new request."],
];

export default function LimitsPage() {
  const limited = listAllQueries("create").filter(({ max_items }) => max_items !== undefined);
  const used = useLoad(async (signal) => {
    const counts = await Promise.all(limited.map(({ entity }) => readCount(entity, signal)));
    return { counts, at: new Date() };
  }, [limited.length]);
  return html`<div class="page">
    <${PageHeader} title="Limits" about="What a tenant may store, and what a request may contain." />
    ${limited.length > 0 &&
    html`<section>
      <h2>Items of this tenant</h2>
      <ul class="limits">
        ${limited.map(({ entity, max_items = 0 }, place) => {
          const count = used.data?.counts[place];
          const isKnown = count !== undefined && count !== null;
          return html`<li key=${entity}>
            <span>${renderPlural(entity ?? "")}</span>
            <span class="number">${isKnown ? renderNumber(count) : "–"} of ${renderNumber(max_items)}</span>
            <meter min="0" max=${max_items} high=${max_items * 0.8} value=${isKnown ? count : 0} aria-label=${`${renderPlural(entity ?? "")} used`}></meter>
          </li>`;
        })}
      </ul>
      <${Freshness} at=${used.data?.at ?? null} isLive />
    </section>`}
    <section>
      <h2>Requests</h2>
      <table class="plain">
        <thead><tr><th scope="col">What</th><th scope="col">Limit</th><th scope="col">Beyond it</th></tr></thead>
        <tbody>
          ${REQUESTS.map(([what, limit, beyond]) => html`<tr key=${what}><th scope="row">${what}</th><td>${limit}</td><td class="muted">${beyond}</td></tr>`)}
        </tbody>
      </table>
    </section>
  </div>`;
}

/** The number of items of an entity, counted now; null if nothing counts them. @param {string | null} entity @param {AbortSignal} signal */
async function readCount(entity, signal) {
  const total = listAllQueries("total").find((query) => query.entity === entity && !listNeeded(query).length && !query.required.length);
  const filled = total && fillRequest(total, { live: "true" });
  if (!filled) return null;
  const answer = await request(filled.path, { query: filled.query, signal }).catch(() => null);
  return answer?.data.count ?? null;
}
