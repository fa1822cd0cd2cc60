/** What the browser keeps between visits. It may refuse to: then nothing is kept, and nothing fails. */

/** @param {string} key */
export function readStored(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/**
 * @param {string} key
 * @param {string} text
 * @returns {boolean} whether it is kept
 */
export function writeStored(key, text) {
  try {
    localStorage.setItem(key, text);
    return true;
  } catch {
    return false;
  }
}
