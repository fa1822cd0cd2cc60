/**
 * Marks of matches, by the normal form of the API (`daicho.search.normalise`) and its words
 * (`daicho.search.normalise`).
 */

const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });
const MARK = /^\p{M}$/u;
const LOSES_MARKS =
  /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Hebrew}\p{Script=Arabic}\p{P}\s]$/u;
const PHONE = /^[\d\s+().,/*·\u2043~\-\u00ad\u2010-\u2015\u2212\u30fc\u30fb]+$/u;
const MAX_MARKED_CHARACTERS = 2_000;
const UNSEEN = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u0640\u0674]|[^\P{Cc}\s]/gu;
const APOSTROPHES =
  /[`\u00b4\u02b9\u02bb-\u02bf\u02c8\u02ca\u02cb\u0374\u0384\u055a\u05f3\u07f4\u07f5\u1fbd\u1fbf\u1fef\u1ffd\u1ffe\u2018-\u201b\u2032\u2035\ua78b\ua78c]/gu;
const DASHES = /[\p{Pd}\u02d7\u2043\u207b\u2212]/gu;
const SEPARATOR = /[\p{P}\p{Z}\s]/u;
const SYMBOL = /[\p{S}#%&*@]/u;
/** Letters behind those that they are read as: `daicho.search.letters`, without those of phonetics. */
const LETTERS = new Map(
  `
a ⱥ; ae æ; b ƀ ƃ ɓ ʙ; c ƈ ȼ ɕ; d ð đ ƌ ȡ ɖ ɗ; db ȸ; dz ʣ ʥ; e ǝ ɇ ə ɛ; f ƒ; g ǥ ɠ ɡ ɢ ʛ; h ħ ɦ ɧ ʜ; hv ƕ; i ı
ɨ ɩ ɪ; j ȷ ɉ ɟ ʝ; k ƙ; l ł ƚ ȴ ɫ ɬ ɭ ʟ ⱡ; ls ʪ; lz ʫ; m ɱ; n ŋ ƞ ȵ ɲ ɳ ɴ; o ø ɵ; oe œ ɶ; oi ƣ; p ƥ; q ĸ ɋ ʠ;
qp ȹ; r ɍ ɼ ɽ ɾ ʀ; s ȿ ʂ; t ŧ ƫ ƭ ȶ ʈ ⱦ; th þ; ts ʦ; u ʉ; v ʋ; y ƴ ɏ ʏ; z ƶ ȥ ɀ ʐ ʑ;
ا ٱ ٲ ٳ; ي ى ی ے; ك ک; ه ة ە ہ
`
    .split(";")
    .map((group) => group.trim().split(/\s+/u))
    .flatMap(([plain, ...letters]) => letters.map((letter) => [letter, plain])),
);

/** @param {string} text */
export function fold(text) {
  const folded = foldCase(foldAlike(text).normalize("NFKC"));
  const plain = foldAlike(dropMarks(folded.normalize("NFD")).normalize("NFC"));
  return plain.normalize("NFKC").split(/\s+/u).filter(Boolean).join(" ");
}

/** What people type alike: apostrophes, dashes, digits, letters with strokes, kana. @param {string} text */
function foldAlike(text) {
  return text
    .replace(APOSTROPHES, "'")
    .replace(DASHES, "-")
    .replace(UNSEEN, "")
    .replace(/[\u3041-\u3096\u309d\u309e]/g, (kana) => String.fromCharCode(kana.charCodeAt(0) + 0x60))
    .replace(/[^\P{Nd}\d\u{1d7ce}-\u{1d7ff}]/gu, readDigit)
    .replace(/[^\P{L}a-z]/gu, (letter) => LETTERS.get(letter) ?? letter);
}

/** A digit is as far from its zero as from the last character before that is none. @param {string} digit */
function readDigit(digit) {
  const code = digit.codePointAt(0) ?? 0;
  let zero = code;
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1;
  return String((code - zero) % 10);
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
  const words = folded.split(" ").map((word) => [...word].filter(isKept).join("")).filter(Boolean);
  const letters = indexLetters(text);
  let found = findRanges(letters, words.join(""));
  if (!found.length && PHONE.test(folded) && PHONE.test(fold(text))) found = findNumber(text, letters, folded);
  if (!found.length && words.length > 1) found = words.flatMap((word) => findRanges(letters, word));
  return found.length ? cut(text, found) : plain;
}

/** @param {string} character */
function isKept(character) {
  return SYMBOL.test(character) || !SEPARATOR.test(character);
}

/**
 * The digits of a phone number, however it is dialled: with the code of a country or without it.
 * @param {string} text
 * @param {Letter[]} letters
 * @param {string} keyword
 */
function findNumber(text, letters, keyword) {
  const digits = keyword.replace("(0)", "").replace(/\D/g, "");
  const trunk = text.includes("+") ? text.indexOf("(0)") + 1 : -1;
  const own = letters.filter(({ folded, start }) => /\d/.test(folded) && start !== trunk);
  for (const dialled of [digits, digits.replace(/^00/, ""), digits.replace(/^(00)?81/, ""), digits.replace(/^0/, "")]) {
    const found = findRanges(own, dialled, true);
    if (dialled && found.length) return found;
  }
  return [];
}

/** @typedef {{folded: string, start: number, end: number, isWordStart: boolean}} Letter */

/**
 * The folded characters of a text that are kept in its words, with the places that they come from.
 * @param {string} text
 */
function indexLetters(text) {
  /** @type {Letter[]} */
  const letters = [];
  let isWordStart = true;
  let isAfterSymbol = false;
  for (const { segment, index } of segmenter.segment(text)) {
    const folded = fold(segment);
    if (!folded) isWordStart ||= /\s/u.test(segment);
    for (const unit of folded) {
      const isSymbol = SYMBOL.test(unit);
      isWordStart ||= (isAfterSymbol && !isSymbol) || !isKept(unit);
      if (!isKept(unit)) continue;
      letters.push({ folded: unit, start: index, end: index + segment.length, isWordStart });
      isWordStart = false;
      isAfterSymbol = isSymbol;
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
