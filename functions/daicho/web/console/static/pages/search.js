/** Search as you type, over every entity with a search. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { html } from "console/html.js";
import { fillRequest, findOperation, listAllQueries, listNeeded, renderField, renderPlural, resolve, resolveItem } from "console/catalog.js";
import { chooseColumns } from "console/columns.js";
import { usePages } from "console/load.js";
import { request } from "console/request.js";
import { makeHash, navigate } from "console/router.js";
import { Empty } from "console/parts/states.js";
import { Icon } from "console/parts/icons.js";
import { ItemList } from "console/parts/item-list.js";
import { focusList } from "console/parts/keyboard.js";
import { PageHeader } from "console/parts/page.js";
import { announce } from "console/parts/status.js";

const DEBOUNCE_MS = 150;
const PAGE = 50;
const LAST = "daicho.search";

/** @param {{route: import("console/router.js").Route}} props */
export default function SearchPage({ route }) {
  const searches = listAllQueries("search").filter((query) => listNeeded(query).length === 1);
  const chosen = route.path[1] ?? sessionStorage.getItem(LAST) ?? "";
  const query = findOperation(chosen)?.queries.find(({ kind }) => kind === "search") ?? searches[0];
  const keyword = route.query.get("q") ?? "";
  const columns = route.query.get("$columns") ?? "";
  if (!query) return html`<div class="page"><${Empty} isPage title="No entity has a search" /></div>`;
  const choose = (/** @type {string} */ id) => {
    sessionStorage.setItem(LAST, id);
    navigate(makeHash(["search", id], { q: keyword }), { replace: true });
  };
  return html`<div class="page full">
    <${PageHeader} title="Search" />
    <${SearchBox} keyword=${keyword} query=${query} columns=${columns} />
    <div class="tabs" role="group" aria-label="What to search">
      ${searches.map(
        (one) => html`<button
          type="button"
          key=${one.operation.id}
          aria-pressed=${one.operation.id === query.operation.id}
          onClick=${() => choose(one.operation.id)}
        >
          ${renderPlural(one.entity ?? "")}
        </button>`,
      )}
    </div>
    <${Results} key=${query.operation.id} query=${query} keyword=${keyword} columns=${columns} />
  </div>`;
}

/**
 * The columns of a search: matches are marked only where it has searched. The texts of a related
 * entity are in a field that shows them by their ids.
 * @param {import("console/catalog.js").Query} query
 * @param {string[]} [names] if they are chosen
 */
function chooseSearchColumns(query, names) {
  const schema = resolveItem(query.operation);
  const isRelated = query.searched.some((name) => name.includes("."));
  return chooseColumns(schema, [], names).map((column) => ({
    ...column,
    isMarked:
      query.searched.includes(column.name) || (isRelated && resolve(schema.properties[column.name]).type === "object"),
  }));
}

/** @param {{keyword: string, query: import("console/catalog.js").Query, columns: string}} props */
function SearchBox({ keyword, query, columns }) {
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const [typed, setTyped] = useState(keyword);
  const isComposing = useRef(false);
  const timer = useRef(0);
  useEffect(() => input.current?.focus(), []);
  useEffect(() => {
    if (document.activeElement !== input.current) setTyped(keyword);
  }, [keyword]);
  // In the layout phase: an effect runs after the paint, and what was typed since would be lost.
  useLayoutEffect(() => () => clearTimeout(timer.current), [query]);

  const search = (/** @type {string} */ text, delay = DEBOUNCE_MS) => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      navigate(makeSearchHash(query, text, columns), { replace: true });
    }, delay);
  };
  return html`<div class="search-box">
    <${Icon} name="search" />
    <input
      ref=${input}
      type="search"
      dir="auto"
      aria-label=${`Search ${renderPlural(query.entity ?? "")}`}
      placeholder=${`Search ${renderPlural(query.entity ?? "").toLowerCase()} by ${query.searched.map(renderField).join(", ")}`}
      value=${typed}
      autocomplete="off"
      spellcheck=${false}
      maxlength="64"
      onCompositionStart=${() => (isComposing.current = true)}
      onCompositionEnd=${(/** @type {any} */ event) => {
        isComposing.current = false;
        setTyped(event.currentTarget.value);
        search(event.currentTarget.value);
      }}
      onInput=${(/** @type {any} */ event) => {
        setTyped(event.currentTarget.value);
        if (!event.isComposing && !isComposing.current) search(event.currentTarget.value);
      }}
      onKeyDown=${(/** @type {any} */ event) => {
        if (event.isComposing || isComposing.current) return; // this Enter ends the composition
        if (event.key === "Enter") search(event.currentTarget.value, 0);
        if (event.key === "ArrowDown" && focusList()) event.preventDefault();
      }}
    />
    <kbd aria-hidden="true">/</kbd>
  </div>`;
}

/** @param {import("console/catalog.js").Query} query @param {string} q @param {string} $columns */
function makeSearchHash(query, q, $columns) {
  return makeHash(["search", query.operation.id], { q, $columns });
}

/** @param {{query: import("console/catalog.js").Query, keyword: string, columns: string}} props */
function Results({ query, keyword, columns }) {
  const parameter = query.search_parameter ?? "q";
  // Without a keyword there is nothing to search for; a list of all is shown if there is one.
  const all = query.operation.queries.find(({ kind, required }) => kind === "list" && !required.length);
  const asked = keyword ? query : all;
  const filled = asked ? fillRequest(asked, { [parameter]: keyword || undefined, limit: PAGE }) : null;
  const list = usePages(
    filled
      ? async (cursor, signal) => (await request(filled.path, { query: { ...filled.query, cursor }, signal })).data
      : null,
    [query.operation.id, keyword],
  );
  const { rows, cursor, isLoading, error } = list;
  useEffect(() => {
    if (!isLoading && keyword && !error) announce(`${rows.length}${cursor ? " or more" : ""} results`);
  }, [isLoading, rows.length, keyword]);
  const count = `${rows.length}${cursor ? "+" : ""}`;
  const status = html`<p class="muted number" aria-hidden="true">
    ${!filled ? "" : isLoading && !rows.length ? "Searching…" : keyword ? `${count} found` : `${count}, newest first`}
  </p>`;
  const searched = query.searched.map(renderField).join(", ");
  const plural = renderPlural(query.entity ?? "");
  return html`<${ItemList}
    label=${plural}
    query=${query}
    list=${list}
    filled=${filled}
    status=${status}
    keyword=${keyword}
    chosen=${columns}
    listColumns=${(/** @type {string[] | undefined} */ names) => chooseSearchColumns(query, names)}
    makeAddress=${(/** @type {string} */ names) => makeSearchHash(query, keyword, names)}
    instead=${!filled && html`<${Empty} title="Type to search">${plural} are found by ${searched}.<//>`}
    empty=${keyword
      ? html`<${Empty} title="Nothing matches">
          No ${searched} has a word that begins with <b><bdi>${keyword}</bdi></b>. Try fewer letters.
        <//>`
      : html`<${Empty} title="There is nothing yet" />`}
  />`;
}
