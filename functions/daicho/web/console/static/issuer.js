/**
 * The addresses and requests of the issuer, the codes of a login (RFC 7636), and the claims of a
 * token. The tokens themselves are kept by `session.js`.
 */

/**
 * @typedef {{stage: string, title: string, issuer: string, client: string, authorize: string,
 *   token: string, logout: string | null, revoke: string | null, scope: string,
 *   operator_group: string, admin_group: string, demo: boolean,
 *   claims: {subject: string, tenant: string, groups: string[]}}} Config
 */

/** The page itself, without query and hash: the issuer admits exactly this address. */
export const pageAddress = `${location.origin}${location.pathname}`;

/**
 * Why an issuer refused a login (RFC 6749, 4.1.2.1), in the page's own words: anyone can write the
 * text of an address.
 * @param {string | null | undefined} code
 */
export function describeRefusal(code) {
  return code === "access_denied" ? "The login was cancelled or not allowed." : "The issuer refused the login.";
}

/**
 * The address at which a user signs in.
 * @param {Config} config
 * @param {{verifier: string, state: string}} attempt
 */
export async function makeAuthorizeAddress({ authorize, client, scope }, attempt) {
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
 * The address that ends the issuer's own session; null if it has none.
 * @param {Config} config
 */
export function makeLogoutAddress({ logout, client }) {
  if (!logout) return null;
  const address = new URL(logout);
  address.searchParams.set("client_id", client);
  address.searchParams.set("logout_uri", pageAddress);
  return address.href;
}

/**
 * Get tokens.
 * @param {Config} config
 * @param {Record<string, string>} form
 * @returns {Promise<{id_token: string, refresh_token?: string}>}
 */
export async function fetchTokens({ token, client }, form) {
  const body = new URLSearchParams({ client_id: client, ...form });
  const response = await fetch(token, { method: "POST", body });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok || !answer.id_token) {
    throw new Error(`The login failed: ${answer.error_description ?? answer.error ?? response.status}`);
  }
  return answer;
}

/**
 * Revoke a refresh token (RFC 7009). The answer cannot be read, and nothing follows from it.
 * @param {Config | null} config
 * @param {string | null | undefined} refresh
 */
export function revokeRefresh(config, refresh) {
  if (!config?.revoke || !refresh) return;
  const body = new URLSearchParams({ token: refresh, token_type_hint: "refresh_token", client_id: config.client });
  // It outlives the page, which may go to the issuer's logout at once.
  fetch(config.revoke, { method: "POST", body, mode: "no-cors", keepalive: true }).catch(() => undefined);
}

/** @param {number} length bytes of randomness */
export function createVerifier(length) {
  return encodeBase64Url(crypto.getRandomValues(new Uint8Array(length)));
}

/** @param {string} verifier */
export async function createChallenge(verifier) {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  return encodeBase64Url(new Uint8Array(digest));
}

/**
 * The claims of a token. The API checks its signature; the page only shows them.
 * @param {string} token
 * @returns {Record<string, any>}
 */
export function decodeClaims(token) {
  const text = token.split(".")[1].replace(/-/g, "+").replace(/_/g, "/");
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes));
}

/** @param {Uint8Array} bytes */
function encodeBase64Url(bytes) {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}
