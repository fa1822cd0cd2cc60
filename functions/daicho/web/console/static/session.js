/**
 * Who is signed in: PKCE with the configured issuer. Tokens are in memory only.
 *
 * A session that has ended does not leave the page: a window of the issuer signs in again, so typed
 * text stays. That window ends on the console's own address, which hands the code to this page.
 */

import { computed, signal } from "@preact/signals";
import { createChallenge, createVerifier, decodeClaims } from "console/pkce.js";

/**
 * @typedef {{stage: string, title: string, issuer: string, client: string, authorize: string,
 *   token: string, logout: string | null, scope: string, operator_group: string,
 *   admin_group: string, demo: boolean}} Config
 * @typedef {{subject: string, name: string, tenant: string, groups: string[]}} User
 * @typedef {"loading" | "signed-out" | "signed-in" | "expired"} State
 */

/** The address that all requests are relative to; it ends with a slash. */
export const base = new URL(".", document.baseURI);
/** The page itself, without query and hash: the issuer admits exactly this address. */
export const pageAddress = `${location.origin}${location.pathname}`;

/** @type {import("@preact/signals").Signal<Config | null>} */
export const config = signal(null);
/** @type {import("@preact/signals").Signal<User | null>} */
export const user = signal(null);
/** @type {import("@preact/signals").Signal<State>} */
export const state = signal("loading");
/** Why the last login failed; empty if it did not. */
export const loginError = signal("");
/** Whether the user is an operator of the stack. */
export const isOperator = computed(() => hasGroup(config.value?.operator_group));
/** Whether the user is an administrator of the tenant. */
export const isAdmin = computed(() => hasGroup(config.value?.admin_group));

const ATTEMPT = "daicho.login";
const RETURN = "daicho.return";
const CHANNEL = "daicho.login";
const POPUP = "popup.";
const REFRESH_BEFORE_MS = 60_000;

/** @type {{id: string, refresh: string | null, expires: number} | null} */
let tokens = null;
/** @type {Promise<string> | null} */
let refreshing = null;
/** @type {((token: string) => void)[]} */
let waiting = [];
/** @type {((error: Error) => void)[]} */
let refusing = [];

/** @param {string | undefined} group */
export function hasGroup(group) {
  return Boolean(group && user.value?.groups.includes(group));
}

/** Read the settings, and finish a login that the issuer has sent back. */
export async function startSession() {
  const response = await fetch(new URL("console/config.json", base));
  if (!response.ok) throw new Error(`The console is not configured (${response.status}).`);
  config.value = await response.json();
  const query = new URLSearchParams(location.search);
  const code = query.get("code");
  const given = query.get("state") ?? "";
  if (given.startsWith(POPUP)) {
    const channel = new BroadcastChannel(CHANNEL);
    channel.postMessage({ code, state: given, error: query.get("error_description") });
    channel.close();
    close();
    return;
  }
  if (code || query.has("error")) {
    const saved = JSON.parse(sessionStorage.getItem(ATTEMPT) ?? "null");
    sessionStorage.removeItem(ATTEMPT);
    const hash = location.hash || (sessionStorage.getItem(RETURN) ?? "");
    sessionStorage.removeItem(RETURN);
    history.replaceState(null, "", `${pageAddress}${hash}`);
    if (code && saved && saved.state === given) {
      try {
        await redeemCode(code, saved.verifier);
        return;
      } catch (error) {
        loginError.value = String(error instanceof Error ? error.message : error);
      }
    } else {
      loginError.value = query.get("error_description") ?? "The login was not started here.";
    }
  }
  state.value = "signed-out";
}

/** Go to the issuer's page, and come back to the same place. */
export async function signIn() {
  const attempt = { verifier: createVerifier(48), state: createVerifier(16) };
  sessionStorage.setItem(ATTEMPT, JSON.stringify(attempt));
  sessionStorage.setItem(RETURN, location.hash);
  location.assign(await makeAuthorizeAddress(attempt));
}

/** Sign in again in a window, while this page keeps what was typed. Call it in a click. */
export function signInAgain() {
  const attempt = { verifier: createVerifier(48), state: `${POPUP}${createVerifier(16)}` };
  const popup = open("", "_blank", "popup,width=480,height=640");
  if (!popup) {
    loginError.value = "The browser blocked the window. Allow windows of this page, and try again.";
    return;
  }
  loginError.value = "";
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = async ({ data }) => {
    if (data.state !== attempt.state) return;
    channel.close();
    try {
      if (!data.code) throw new Error(data.error ?? "The login was refused.");
      await redeemCode(data.code, attempt.verifier);
    } catch (error) {
      loginError.value = String(error instanceof Error ? error.message : error);
    }
  };
  void makeAuthorizeAddress(attempt).then((address) => popup.location.replace(address));
}

/** Forget the tokens, and end the issuer's session too if it has an address for that. */
export function signOut() {
  tokens = null;
  user.value = null;
  state.value = "signed-out";
  const { logout, client } = config.value ?? {};
  if (!logout) return;
  const address = new URL(logout);
  address.searchParams.set("client_id", client ?? "");
  address.searchParams.set("logout_uri", pageAddress);
  location.assign(address);
}

/**
 * A token that is valid now. It waits for a new login if the session has ended.
 * @returns {Promise<string>}
 */
export async function getToken() {
  if (tokens && tokens.expires - Date.now() > REFRESH_BEFORE_MS) return tokens.id;
  if (tokens?.refresh) {
    refreshing ??= refreshTokens(tokens.refresh).finally(() => (refreshing = null));
    try {
      return await refreshing;
    } catch (error) {
      if (error instanceof TypeError && tokens.expires > Date.now()) return tokens.id;
      if (error instanceof TypeError) throw error;
    }
  } else if (tokens && tokens.expires > Date.now()) return tokens.id;
  return awaitLogin();
}

/**
 * The API refused the token: refresh it, or wait for a new login.
 * @param {string} refused
 */
export async function replaceToken(refused) {
  if (tokens?.id === refused) tokens.expires = 0;
  return getToken();
}

/** End all requests that wait for a login; what they would have done stays undone. */
export function cancelLogin() {
  const error = new Error("You are not signed in. Nothing was sent.");
  for (const refuse of refusing) refuse(error);
  [waiting, refusing] = [[], []];
  state.value = "signed-in";
}

/** @returns {Promise<string>} */
function awaitLogin() {
  state.value = "expired";
  return new Promise((resolve, reject) => {
    waiting.push(resolve);
    refusing.push(reject);
  });
}

/** @param {{verifier: string, state: string}} attempt */
async function makeAuthorizeAddress(attempt) {
  const { authorize, client, scope } = /** @type {Config} */ (config.value);
  const address = new URL(authorize);
  const parameters = {
    client_id: client,
    response_type: "code",
    scope,
    redirect_uri: pageAddress,
    state: attempt.state,
    code_challenge: await createChallenge(attempt.verifier),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
  return address.href;
}

/**
 * @param {string} code
 * @param {string} verifier
 */
async function redeemCode(code, verifier) {
  await requestTokens({
    grant_type: "authorization_code",
    code,
    redirect_uri: pageAddress,
    code_verifier: verifier,
  });
}

/** @param {string} refresh */
async function refreshTokens(refresh) {
  return requestTokens({ grant_type: "refresh_token", refresh_token: refresh });
}

/** @param {Record<string, string>} form */
async function requestTokens(form) {
  const { token, client } = /** @type {Config} */ (config.value);
  const body = new URLSearchParams({ client_id: client, ...form });
  const response = await fetch(token, { method: "POST", body });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok || !answer.id_token) {
    throw new Error(`The login failed: ${answer.error_description ?? answer.error ?? response.status}`);
  }
  const claims = decodeClaims(answer.id_token);
  if (user.value && user.value.subject !== claims.sub) {
    location.reload(); // another user: nothing of the first one may stay
  }
  const lifetime = (claims.exp - claims.iat) * 1000 || 3_600_000;
  tokens = {
    id: answer.id_token,
    refresh: answer.refresh_token ?? tokens?.refresh ?? null,
    expires: Date.now() + lifetime, // by the own clock, which may differ from the issuer's
  };
  const groups = claims["cognito:groups"] ?? claims.groups ?? [];
  user.value = {
    subject: claims.sub,
    name: claims.email ?? claims.name ?? claims["cognito:username"] ?? claims.sub,
    tenant: claims["custom:tenant"] ?? claims.tenant ?? "",
    groups: Array.isArray(groups) ? groups : [groups],
  };
  state.value = "signed-in";
  for (const resolve of waiting) resolve(answer.id_token);
  [waiting, refusing] = [[], []];
  return answer.id_token;
}
