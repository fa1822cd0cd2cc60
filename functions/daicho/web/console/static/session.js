/**
 * Who is signed in: PKCE with the configured issuer. Tokens are in memory only.
 *
 * A session that has ended does not leave the page: a window of the issuer signs in again, so typed
 * text stays. That window ends on the console's own address, which hands the code to this page.
 *
 * A page has one user until it is loaded again. If another subject, or the same one with another
 * tenant, signs in in that window, all that waits is dropped and the page shows only the login: no
 * text of the first user is sent with the token of the second. The same holds for addresses of the
 * first user in the history: see `addressOwner`.
 */

import { computed, signal } from "@preact/signals";
import {
  createChallenge,
  createVerifier,
  decodeClaims,
  describeRefusal,
  fetchTokens,
  makeAuthorizeAddress,
  makeLogoutAddress,
  pageAddress,
  revokeRefresh,
} from "console/issuer.js";

/**
 * @typedef {import("console/issuer.js").Config} Config
 * @typedef {{id: string, name: string, tenant: string, groups: string[]}} User
 *   `id`: a digest of issuer, subject and tenant
 * @typedef {"loading" | "signed-out" | "signed-in" | "expired"} State
 */

/** The address that all requests are relative to; it ends with a slash. */
export const base = new URL(".", document.baseURI);

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
const ANOTHER_USER =
  "Another user signed in, so this page was closed. What it still had to send was dropped: nothing of it was sent.";

/** @type {{id: string, refresh: string | null, expires: number} | null} */
let tokens = null;
/** @type {Promise<string> | null} */
let refreshing = null;
/** @type {((token: string) => void)[]} */
let waiting = [];
/** @type {((error: Error) => void)[]} */
let refusing = [];
/** Whether the page has had its user. It gets no other one. */
let hasEnded = false;

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
    channel.postMessage({ code, state: given, error: query.get("error") });
    channel.close();
    close();
    return;
  }
  if (code || query.has("error")) await finishLogin(code, given, query.get("error"));
  if (!user.value) state.value = "signed-out";
}

/**
 * @param {string | null} code
 * @param {string} given the state in the address
 * @param {string | null} refusal
 */
async function finishLogin(code, given, refusal) {
  const [saved, place] = [ATTEMPT, RETURN].map((name) => JSON.parse(sessionStorage.getItem(name) ?? "null"));
  for (const name of [ATTEMPT, RETURN]) sessionStorage.removeItem(name);
  history.replaceState(null, "", `${pageAddress}${location.hash}`);
  if (!saved || saved.state !== given) {
    loginError.value = "The login was not started here.";
    return;
  }
  try {
    if (!code) throw new Error(describeRefusal(refusal));
    await redeemCode(code, saved.verifier);
  } catch (error) {
    loginError.value = describeError(error);
    return;
  }
  const isAnothers = place?.owner && place.owner !== addressOwner();
  const hash = location.hash || (isAnothers ? "" : (place?.hash ?? ""));
  history.replaceState({ owner: addressOwner() }, "", `${pageAddress}${hash}`);
}

/** Whose addresses the page makes; null before the login. */
export function addressOwner() {
  return user.value?.id ?? null;
}

/** Go to the issuer's page, and come back to the same place. */
export async function signIn() {
  const attempt = { verifier: createVerifier(48), state: createVerifier(16) };
  sessionStorage.setItem(ATTEMPT, JSON.stringify(attempt));
  sessionStorage.setItem(RETURN, JSON.stringify({ hash: location.hash, owner: history.state?.owner }));
  location.assign(await makeAuthorizeAddress(getConfig(), attempt));
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
      if (!data.code) throw new Error(describeRefusal(data.error));
      await redeemCode(data.code, attempt.verifier);
    } catch (error) {
      loginError.value = describeError(error);
    }
  };
  void makeAuthorizeAddress(getConfig(), attempt).then((address) => popup.location.replace(address));
}

/** Forget the tokens, and end the issuer's session too if it has an address for that. */
export function signOut() {
  endSession("");
  const logout = makeLogoutAddress(getConfig());
  if (logout) location.assign(logout);
}

/**
 * A token of the page's user that is valid now. It waits for a new login if the session has ended.
 * @returns {Promise<string>}
 */
export async function getToken() {
  if (!user.value) throw new Error("You are signed out. Nothing was sent.");
  if (tokens && tokens.expires - Date.now() > REFRESH_BEFORE_MS) return tokens.id;
  if (tokens?.refresh) {
    refreshing ??= refreshTokens(tokens.refresh).finally(() => (refreshing = null));
    try {
      return await refreshing;
    } catch (error) {
      if (error instanceof TypeError && tokens.expires > Date.now()) return tokens.id;
      if (error instanceof TypeError || hasEnded) throw error;
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
  refuseWaiting();
  state.value = "signed-in";
}

function refuseWaiting() {
  const error = new Error("You are not signed in. Nothing was sent.");
  for (const refuse of refusing) refuse(error);
  [waiting, refusing] = [[], []];
}

/**
 * Drop all that belongs to the user. The page is without one until it is loaded again.
 * @param {string} reason shown on the page; empty if the user wanted it
 */
function endSession(reason) {
  hasEnded = true;
  revokeRefresh(config.value, tokens?.refresh);
  tokens = null;
  user.value = null;
  refuseWaiting();
  history.replaceState(null, "", pageAddress);
  loginError.value = reason;
  state.value = "signed-out";
}

/** @returns {Promise<string>} */
function awaitLogin() {
  state.value = "expired";
  return new Promise((resolve, reject) => {
    waiting.push(resolve);
    refusing.push(reject);
  });
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
  const answer = await fetchTokens(getConfig(), form);
  const claims = decodeClaims(answer.id_token);
  const signedIn = await readUser(claims);
  const isAnother = user.value !== null && user.value.id !== signedIn.id;
  if (isAnother || hasEnded) {
    revokeRefresh(config.value, answer.refresh_token);
    if (isAnother) endSession(ANOTHER_USER);
    throw new Error(loginError.value || "You are signed out.");
  }
  const lifetime = (claims.exp - claims.iat) * 1000 || 3_600_000;
  tokens = {
    id: answer.id_token,
    refresh: answer.refresh_token ?? tokens?.refresh ?? null,
    expires: Date.now() + lifetime, // by the own clock, which may differ from the issuer's
  };
  user.value = signedIn;
  state.value = "signed-in";
  for (const resolve of waiting) resolve(answer.id_token);
  [waiting, refusing] = [[], []];
  return answer.id_token;
}

/** @param {Record<string, any>} claims @returns {Promise<User>} */
async function readUser(claims) {
  const { subject, tenant, groups } = getConfig().claims;
  const identity = [claims.iss, claims.sub, claims[subject], claims[tenant]];
  return {
    id: await createChallenge(JSON.stringify(identity)),
    name: claims.email ?? claims.name ?? claims["cognito:username"] ?? claims.sub,
    tenant: String(claims[tenant] ?? ""),
    groups: groups.flatMap((name) => claims[name] ?? []),
  };
}

function getConfig() {
  return /** @type {Config} */ (config.value);
}

/** @param {unknown} error */
function describeError(error) {
  return String(error instanceof Error ? error.message : error);
}
