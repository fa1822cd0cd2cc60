/** The limits of a tenant, with what is used of them. */

import { html } from "console/html.js";
import { fillRequest, listAllQueries, listNeeded, renderPlural } from "console/catalog.js";
import { renderNumber } from "console/format.js";
import { useLoad } from "console/load.js";
import { request } from "console/request.js";
import { Freshness, PageHeader } from "console/parts/page.js";

const RATES = { requests: "Requests", read_units: "Read units", write_units: "Write units" };

export default function LimitsPage() {
  const limited = listAllQueries("create").filter(({ max_items }) => max_items !== undefined);
  const used = useLoad(async (signal) => {
    const counts = await Promise.all(limited.map(({ entity }) => readCount(entity, signal)));
    return { counts, at: new Date() };
  }, [limited.length]);
  const { data } = useLoad(async (signal) => (await request("/limits", { signal })).data, []);
  return html`<div class="page">
    <${PageHeader} title="Limits" about="What this tenant may store, and what it may consume." />
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
    ${data &&
    html`<section>
      <h2>Consumption</h2>
      <table class="plain">
        <thead><tr><th scope="col">What</th><th scope="col">Limit a second</th><th scope="col">Left now</th><th scope="col">Used today</th></tr></thead>
        <tbody>
          ${Object.entries(RATES).map(([name, title]) => html`<tr key=${name}><th scope="row">${title}</th>${[data[name].per_second, data[name].available, data.today[name]].map((number) => html`<td class="number">${renderNumber(number)}</td>`)}</tr>`)}
        </tbody>
      </table>
      <p>${renderNumber(data.items.stored)} of ${renderNumber(data.items.most)} items are stored.</p>
    </section>`}
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
