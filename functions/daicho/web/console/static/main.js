/** The start of the page: session, description of the API, then the shell. */

import { render } from "preact";
import { useState } from "preact/hooks";
import "@preact/signals";
import { html } from "console/html.js";
import { document_, loadCatalog } from "console/catalog.js";
import { config, startSession, state } from "console/session.js";
import { startRouter } from "console/router.js";
import { startTheme } from "console/theme.js";
import { LoginPage } from "console/pages/login.js";
import { ErrorState } from "console/parts/states.js";
import { Shell } from "console/shell.js";

/** @type {(error: unknown) => void} */
let showFailure = () => undefined;

function Console() {
  const [failure, setFailure] = useState(/** @type {any} */ (null));
  showFailure = setFailure;
  if (failure) {
    return html`<main class="alone"><${ErrorState} error=${failure} onRetry=${() => location.reload()} /></main>`;
  }
  if (state.value === "signed-out") return html`<${LoginPage} />`;
  if (state.value === "loading" || !document_.value) {
    return html`<main class="alone" aria-busy="true"><h1 class="visually-hidden">Loading</h1><i class="loading" /></main>`;
  }
  return html`<${Shell} />`;
}

async function start() {
  startTheme();
  const root = /** @type {HTMLElement} */ (document.getElementById("console"));
  root.textContent = "";
  render(html`<${Console} />`, root);
  try {
    await Promise.all([startSession(), loadCatalog()]);
    startRouter();
    document.title = config.value?.title || "Console";
  } catch (error) {
    showFailure(error);
  }
}

void start();
