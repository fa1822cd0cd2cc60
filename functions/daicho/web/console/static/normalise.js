/**
 * Marks of matches, by the normal form of the API (`daicho.search.normalise`): NFKC, case folded,
 * marks dropped after Latin, Greek and Cyrillic letters, hiragana as katakana.
 */

const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });
const MARK = /^\p{M}$/u;
const LOSES_MARKS = /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]$/u;
const PHONE = /^[\d\s+().,/*·\u2043~\-\u00ad\u2010-\u2015\u2212\u30fc\u30fb]+$/u;
const MAX_MARKED_CHARACTERS = 2_000;

/** @param {string} text */
export function fold(text) {
  const folded = foldCase(text.normalize("NFKC"));
  const plain = dropMarks(folded.normalize("NFD")).normalize("NFC");
  const katakana = plain.replace(/[\u3041-\u3096\u309d\u309e]/g, (character) =>
    String.fromCharCode(character.charCodeAt(0) + 0x60),
  );
  return katakana.normalize("NFKC").split(/\s+/u).filter(Boolean).join(" ");
}

/**
 * The parts of a text, with those marked that a keyword finds.
 * @param {string} text
 * @param {string} keyword
 * @returns {{text: string, isMatch: boolean}[]}
 */
export function markMatches(text, keyword) {
  const plain = [{ text, isMatch: false }];
  if (!text || !keyword.trim() || text.length > MAX_MARKED_CHARACTERS) return plain;
  const folded = fold(keyword);
  const words = folded.split(" ").filter(Boolean);
  const letters = indexLetters(text);
  const digits = PHONE.test(folded) ? folded.replace(/\D/g, "") : "";
  let found = findRanges(letters, words.join(""));
  if (!found.length && words.length > 1) found = words.flatMap((word) => findRanges(letters, word));
  if (!found.length && digits && PHONE.test(text)) {
    found = findRanges(letters.filter(({ folded: one }) => /\d/.test(one)), digits.replace(/^81/, ""), true);
  }
  return found.length ? cut(text, found) : plain;
}

/** @typedef {{folded: string, start: number, end: number, isWordStart: boolean}} Letter */

/**
 * The folded code units of a text with the places that they come from; spaces are left out.
 * @param {string} text
 */
function indexLetters(text) {
  /** @type {Letter[]} */
  const letters = [];
  let isWordStart = true;
  for (const { segment, index } of segmenter.segment(text)) {
    const folded = fold(segment);
    if (!folded) {
      isWordStart ||= /\s/u.test(segment);
      continue;
    }
    for (const unit of folded.replace(/ /g, "")) {
      letters.push({ folded: unit, start: index, end: index + segment.length, isWordStart });
      isWordStart = false;
    }
  }
  return letters;
}

/**
 * The ranges where a word begins with the keyword; if none does, where it is at all.
 * @param {Letter[]} letters
 * @param {string} keyword
 * @param {boolean} [anywhere]
 */
function findRanges(letters, keyword, anywhere = false) {
  const joined = letters.map(({ folded }) => folded);
  const wanted = [...keyword];
  /** @type {[number, number][]} */
  const atWords = [];
  /** @type {[number, number][]} */
  const inside = [];
  for (let place = 0; wanted.length && place + wanted.length <= joined.length; place += 1) {
    if (!wanted.every((letter, offset) => joined[place + offset] === letter)) continue;
    const last = letters[place + wanted.length - 1];
    (letters[place].isWordStart && !anywhere ? atWords : inside).push([letters[place].start, last.end]);
    place += wanted.length - 1;
  }
  return atWords.length ? atWords : inside;
}

/**
 * @param {string} text
 * @param {[number, number][]} ranges
 */
function cut(text, ranges) {
  const parts = [];
  let place = 0;
  for (const [start, end] of ranges.sort(([first], [second]) => first - second)) {
    if (start < place) continue;
    if (start > place) parts.push({ text: text.slice(place, start), isMatch: false });
    parts.push({ text: text.slice(start, end), isMatch: true });
    place = end;
  }
  if (place < text.length) parts.push({ text: text.slice(place), isMatch: false });
  return parts;
}

/** Case folding: the browser has none, but upper and then lower case comes to the same. @param {string} text */
function foldCase(text) {
  let folded = "";
  for (const character of text) {
    folded += character === "ı" ? character : character.toUpperCase().toLowerCase();
  }
  return folded.replace(/ς/g, "σ");
}

/** @param {string} decomposed */
function dropMarks(decomposed) {
  let kept = "";
  let losesMarks = false;
  for (const character of decomposed) {
    if (MARK.test(character)) {
      if (losesMarks) continue;
    } else losesMarks = LOSES_MARKS.test(character);
    kept += character;
  }
  return kept;
}
