/** The page before the login, and the dialogue when the session has ended. */

import { html } from "console/html.js";
import { cancelLogin, config, loginError, signIn, signInAgain } from "console/session.js";
import { Dialog } from "console/parts/dialog.js";

export function LoginPage() {
  const { title = "", stage = "" } = config.value ?? {};
  return html`<main class="alone login">
    <div class="card">
      <span class="logo large" aria-hidden="true">${(title || "D").charAt(0)}</span>
      <h1>${title || "Console"}</h1>
      <p class="muted">Look at your data, follow its figures, and run the stack.</p>
      ${loginError.value && html`<p class="field-problem" role="alert" dir="auto">${loginError.value}</p>`}
      <button type="button" class="button primary large" autofocus onClick=${signIn}>Sign in</button>
      ${stage && html`<p class="small muted">Stage <span class="badge">${stage}</span></p>`}
    </div>
  </main>`;
}

/** Over the page: what was typed stays, and the request that waits is sent after the login. */
export function LoginDialog() {
  return html`<${Dialog} title="Your session has ended" onClose=${cancelLogin}>
    <p>Sign in again to continue. Nothing that you typed is lost.</p>
    ${loginError.value && html`<p class="field-problem" role="alert" dir="auto">${loginError.value}</p>`}
    <footer>
      <button type="button" class="button" onClick=${cancelLogin}>Not now</button>
      <button type="button" class="button primary" autofocus onClick=${signInAgain}>Sign in again</button>
    </footer>
  <//>`;
}
