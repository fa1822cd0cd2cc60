/** The codes of a login (RFC 7636), and the claims of a token. */

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
