/**
 * The frame of every page: navigation, theme, user, messages, and the login that comes back.
 *
 * How a page is added — one entry in `PAGES` and one module:
 *
 *   { route: "jobs", name: "Jobs", icon: "jobs", section: "Tenant", role: "admin",
 *     load: () => import("console/pages/jobs.js") }
 *
 * - `route`: the first word of the address, `#/jobs/…`; with a slash (`ops/quarantine`) the first
 *   two. The longest route that fits wins.
 * - `name`: in the navigation; without `section` the page is not in it, only reachable by links.
 * - `role`: "admin", "operator" or none. The page is hidden without it; the API refuses too.
 * - `isShown`: optional; whether the page makes sense for this API (no poll: no page of polls).
 * - `load`: its module, loaded when it is first opened. The default export is a Preact component
 *   with the property `route` (`{path, query}`, see `router.js`). It calls `setTitle` by rendering
 *   a `PageHeader` from `console/parts/page.js`.
 *
 * A page reads by `useLoad` or `usePages` (`load.js`) and `request` (`request.js`), shows `Table`,
 * `Empty`, `ErrorState`, `CurlButton`, `Bars`, `SeriesChart` (in `parts/`), asks by `ask`
 * (`parts/dialog.js`), and reports by `showToast` (`parts/status.js`).
 */

import { useEffect, useRef, useState } from "preact/hooks";
import { html, joinClasses } from "console/html.js";
import { findOperation, listAllQueries, listFigureQueries, entities, isPoll, renderPlural } from "console/catalog.js";
import { config, isAdmin, isOperator, signOut, state, user } from "console/session.js";
import { LoginDialog } from "console/pages/login.js";
import { makeHash, route } from "console/router.js";
import { Icon } from "console/parts/icons.js";
import { QuestionDialog } from "console/parts/dialog.js";
import { RecentRequests } from "console/parts/curl.js";
import { isHelpOpen, KeyboardHelp, useShortcuts } from "console/parts/keyboard.js";
import { ErrorState, Skeleton } from "console/parts/states.js";
import { StatusRegion } from "console/parts/status.js";
import { theme } from "console/theme.js";

/**
 * @typedef {{route: string, name: string, icon?: import("console/parts/icons.js").IconName,
 *   section?: string, role?: "admin" | "operator", isShown?: () => boolean,
 *   load: () => Promise<{default: any}>}} Page
 */

/** @type {Page[]} */
export const PAGES = [
  { route: "", name: "Home", icon: "home", section: "", load: () => import("console/pages/home.js") },
  {
    route: "search",
    name: "Search",
    icon: "search",
    section: "",
    isShown: () => listAllQueries("search").length > 0,
    load: () => import("console/pages/search.js"),
  },
  {
    route: "polls",
    name: "Polls",
    icon: "poll",
    section: "",
    isShown: () => [...entities.value.values()].some((entity) => entity.queries.some(isPoll)),
    load: () => import("console/pages/polls.js"),
  },
  {
    route: "charts",
    name: "Charts",
    icon: "chart",
    section: "",
    isShown: () => listAllQueries("ranking", "total").length > 0,
    load: () => import("console/pages/charts.js"),
  },
  { route: "figures", name: "Figures", icon: "figures", section: "", isShown: () => listFigureQueries().length > 0, load: () => import("console/pages/figures.js") },
  { route: "list", name: "List", load: () => import("console/pages/list.js") },
  { route: "item", name: "Item", load: () => import("console/pages/item.js") },
  { route: "new", name: "New item", load: () => import("console/pages/create.js") },
  {
    route: "archive",
    name: "Archive",
    icon: "archive",
    section: "Tenant",
    role: "admin",
    isShown: () => findOperation("list_archived_items") !== null,
    load: () => import("console/pages/archive.js"),
  },
  { route: "jobs", name: "Jobs", icon: "jobs", section: "Tenant", role: "admin", load: () => import("console/pages/jobs.js") },
  { route: "limits", name: "Limits", icon: "limits", section: "Tenant", load: () => import("console/pages/limits.js") },
  ...[
    ["health", "Health", "operate"],
    ["quarantine", "Quarantine", "warning"],
    ["redrives", "Redrives", ""],
    ["generations", "Generations", "code"],
    ["verify", "Verification", "check"],
    ["audit", "Audit", "archive"],
    ["tenants", "Tenants", "table"],
    ["usage", "Usage", "table"],
    ["log", "Log", "jobs"],
  ].map(([word, name, icon]) => makeOperatorPage(word, name, /** @type {any} */ (icon))),
];

/**
 * A page about the stack. Without an icon it is not in the navigation.
 * @param {string} word @param {string} name @param {import("console/parts/icons.js").IconName | ""} icon
 * @returns {Page}
 */
function makeOperatorPage(word, name, icon) {
  const loads = {
    health: () => import("console/pages/ops-health.js"),
    quarantine: () => import("console/pages/ops-quarantine.js"),
    redrives: () => import("console/pages/ops-redrives.js"),
    verify: () => import("console/pages/ops-verify.js"),
  };
  const load = loads[/** @type {keyof typeof loads} */ (word)] ?? (() => import("console/pages/ops-stack.js"));
  return { route: `ops/${word}`, name, role: "operator", load, ...(icon && { icon, section: "Stack" }) };
}

/** Whether the user may open a page. @param {Page} page */
export function mayOpen(page) {
  if (page.role === "operator") return isOperator.value;
  if (page.role === "admin") return isAdmin.value;
  return true;
}

/** The page of an address. @param {string[]} path */
export function findPage(path) {
  for (const words of [2, 1]) {
    const page = PAGES.find((one) => one.route === path.slice(0, words).join("/"));
    if (page && mayOpen(page)) return page;
  }
  return null;
}

/** The whole page for a user who is signed in. */
export function Shell() {
  const [isMenuOpen, setMenuOpen] = useState(false);
  const [areRequestsOpen, setRequestsOpen] = useState(false);
  const current = route.value;
  const main = useRef(/** @type {HTMLElement | null} */ (null));
  useShortcuts();
  useEffect(() => setMenuOpen(false), [current.hash]);
  return html`
    <a
      class="skip"
      href="#content"
      onClick=${(/** @type {Event} */ event) => {
        event.preventDefault();
        main.current?.focus();
      }}
      >Skip to content</a
    >
    <div class=${joinClasses("shell", isMenuOpen && "menu-open")}>
      <header class="bar">
        <button
          type="button"
          class="button quiet square"
          aria-label="Navigation"
          aria-expanded=${isMenuOpen}
          aria-controls="navigation"
          onClick=${() => setMenuOpen(!isMenuOpen)}
        >
          <${Icon} name=${isMenuOpen ? "close" : "menu"} />
        </button>
        <${Brand} />
      </header>
      <aside class="side" id="navigation" aria-label="Console">
        <${Brand} />
        <${Navigation} path=${current.path} />
        <${Account} onRequests=${() => setRequestsOpen(true)} />
      </aside>
      <main id="content" tabindex="-1" ref=${main}><${CurrentPage} route=${current} /></main>
    </div>
    <${StatusRegion} />
    <${QuestionDialog} />
    <${KeyboardHelp} />
    ${areRequestsOpen && html`<${RecentRequests} onClose=${() => setRequestsOpen(false)} />`}
    ${state.value === "expired" && html`<${LoginDialog} />`}
  `;
}

function Brand() {
  const { title = "", stage = "" } = config.value ?? {};
  return html`<a class="brand" href="#/"
    ><span class="logo" aria-hidden="true">${(title || "D").charAt(0)}</span><span>${title || "Console"}</span>
    ${stage && html`<span class="badge">${stage}</span>`}</a
  >`;
}

/** @param {{path: string[]}} props */
function Navigation({ path }) {
  const shown = PAGES.filter((page) => page.section !== undefined && mayOpen(page) && (page.isShown?.() ?? true));
  const sections = [...new Set(shown.map((page) => page.section ?? ""))];
  const active = findPage(path);
  const listed = [...entities.value.values()].filter((entity) =>
    entity.queries.some(({ kind }) => kind === "list" || kind === "search" || kind === "create"),
  );
  const isHere = (/** @type {string} */ name) => path[0] === "entity" && path[1] === name;
  const link = (/** @type {Page} */ page) => html`<li key=${page.route}>
    <a href=${`#/${page.route}`} aria-current=${page === active ? "page" : undefined}
      >${page.icon && html`<${Icon} name=${page.icon} />`}${page.name}</a
    >
  </li>`;
  return html`<nav aria-label="Pages">
    <ul>
      ${shown.filter((page) => page.section === "").map(link)}
    </ul>
    <h2>Data</h2>
    <ul>
      ${listed.map(
        ({ name }) =>
          html`<li key=${name}>
            <a href=${makeHash(["entity", name])} aria-current=${isHere(name) ? "page" : undefined}
              ><${Icon} name="table" />${renderPlural(name)}</a
            >
          </li>`,
      )}
    </ul>
    ${sections
      .filter(Boolean)
      .map((section) => html`<h2 key=${section}>${section}</h2><ul>${shown.filter((page) => page.section === section).map(link)}</ul>`)}
  </nav>`;
}

/** @param {{onRequests: () => void}} props */
function Account({ onRequests }) {
  const { name = "", tenant = "", groups = [] } = user.value ?? {};
  const options = /** @type {const} */ (["light", "dark", "system"]);
  return html`<div class="account">
    <button type="button" class="button quiet" onClick=${onRequests}><${Icon} name="code" />Recent requests</button>
    <button type="button" class="button quiet" onClick=${() => (isHelpOpen.value = true)}><${Icon} name="keys" />Keyboard</button>
    <div class="themes" role="radiogroup" aria-label="Theme">
      ${options.map(
        (option) => html`<label key=${option} title=${`${option} theme`}
          ><input
            type="radio"
            name="theme"
            class="visually-hidden"
            checked=${theme.value === option}
            onChange=${() => (theme.value = option)}
          /><${Icon} name=${option} /><span class="visually-hidden">${option}</span></label
        >`,
      )}
    </div>
    <div class="user">
      <span class="avatar" aria-hidden="true">${name.charAt(0).toUpperCase()}</span>
      <div>
        <bdi title=${name}>${name}</bdi>
        <small class="muted"><bdi>${tenant || "no tenant"}</bdi>${groups.length > 0 && html` · ${groups.join(", ")}`}</small>
      </div>
      <button type="button" class="button quiet square" aria-label="Sign out" title="Sign out" onClick=${signOut}>
        <${Icon} name="exit" />
      </button>
    </div>
  </div>`;
}

/** @param {{route: import("console/router.js").Route}} props */
function CurrentPage({ route: current }) {
  const page = current.path[0] === "entity" ? ENTITY_PAGE : findPage(current.path);
  const [loaded, setLoaded] = useState(/** @type {{page: Page | null, component: any, error: any}} */ ({ page: null, component: null, error: null }));
  useEffect(() => {
    let isLeft = false;
    page?.load().then(
      (module) => isLeft || setLoaded({ page, component: module.default, error: null }),
      (error) => isLeft || setLoaded({ page, component: null, error }),
    );
    return () => {
      isLeft = true;
    };
  }, [page]);
  if (!page) return html`<div class="page"><${NotFound} /></div>`;
  if (loaded.page !== page) return html`<div class="page"><h1 class="visually-hidden">${page.name}</h1><${Skeleton} /></div>`;
  if (loaded.error) return html`<div class="page"><${ErrorState} error=${loaded.error} onRetry=${() => location.reload()} /></div>`;
  return html`<${loaded.component} route=${current} />`;
}

/** @type {Page} */
const ENTITY_PAGE = { route: "entity", name: "Entity", load: () => import("console/pages/entity.js") };

function NotFound() {
  return html`<div class="empty">
    <h1>There is no such page</h1>
    <p class="muted">It may need a role that you do not have. <a href="#/">Go to the start</a></p>
  </div>`;
}
