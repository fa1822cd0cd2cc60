"""Searched texts in normal form and as their kind reads them: `docs/reference/text-folding.md`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from functools import lru_cache
from itertools import groupby

from daicho.plan import TextRules
from daicho.testing.oracle.rows.plain_numbers import read_number_plainly

LEGAL_FORMS = {
    "株": "株式会社",
    "有": "有限会社",
    "同": "合同会社",
    "名": "合名会社",
    "資": "合資会社",
    "財": "財団法人",
    "社": "社団法人",
}
"""Legal forms of companies, by the sign that abbreviates each in brackets and marks its rows."""
DIGITS = "0123456789"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LATIN_FORMS = (
    *("co", "inc", "ltd", "corp", "llc", "plc", "gmbh", "kk"),
    *("incorporated", "limited", "corporation", "company"),
)
_FINAL_POINTS = re.compile(rf"(^|[ ,])({'|'.join(_LATIN_FORMS)})[.,]+(?= |$)")
_CO_LTD = re.compile(r"(^|[ ,])co[.]?[,]?[ ]?ltd(?=[ .,]|$)")
_EXTENSIONS = ("内線", "ext", "x", "#", ";")
_ADDED_LATER = """
558 58B-58C 5C8-5C9 88F 897 B53-B54 C5C CDC CF3 ECE 1ACF-1AF0 1B4E-1B4F 1B7F 1C89-1C8A 208F
209D-209F 20C1-20C4 2427-2429 2B96 2E60-2E63 2FFC-2FFF 31E4-31E5 31EF A7CB-A7CF A7D2 A7D4 A7DA-A7DD
A7E2 A7F1 AB6C-AB6D FBC3-FBD2 FD90-FD91 FDC8-FDCE 105C0-105F3 107BB-107BF 10940-10959 10D40-10D65
10D69-10D85 10D8E-10D8F 10EC2-10EC7 10EC9-10EEE 10EF0-10EFF 1123F-11241 11380-11389 1138B 1138E
11390-113B5 113B7-113C0 113C2 113C5 113C7-113CA 113CC-113D5 113D7-113D8 113E1-113E2 116D0-116E3
11B00-11B0A 11B60-11B67 11BC0-11BE1 11BF0-11BF9 11DB0-11DDB 11DE0-11DE9 11DF0-11DF1 11F00-11F10
11F12-11F3A 11F3E-11F5A 1246F 12475-1247F 12550-12686 1342F 13439-13455 13460-143FA 16100-16139
16D40-16D79 16EA0-16EB8 16EBB-16ED3 16FF2-16FF6 187F8-187FF 18CD6-18CDA 18CFF 18D09-18D20
18D80-18DF2 18E00-19191 191A0-191D2 1B123-1B128 1B132 1B155 1B168 1CC00-1CCFC 1CD00-1CEB3
1CEBA-1CED0 1CED2-1CED4 1CEDD-1CEFD 1D127-1D128 1D1EB-1D1FF 1D250-1D281 1D2C0-1D2D3 1D6A6
1DB00-1DB1C 1DF1F-1DF81 1DF90-1DF96 1DFCD-1DFFF 1E030-1E06D 1E08F 1E4D0-1E4F9 1E5D0-1E5FA 1E5FF
1E6C0-1E6DE 1E6E0-1E6F5 1E6FE-1E6FF 1F1AE 1F6D8-1F6D9 1F6DC 1F774-1F77F 1F7D9-1F7DB 1F7F1-1F7FF
1F8B2-1F8BB 1F8C0-1F8C1 1F8D0-1F8D8 1FA54-1FA57 1FA75-1FA77 1FA87-1FA8F 1FAAD-1FAAF 1FABB-1FABF
1FAC6 1FAC8 1FACC-1FACF 1FADA-1FADD 1FADF 1FAE8-1FAEB 1FAEF 1FAF7-1FAFA 1FBCB-1FBEF 1FBFA
2B739-2B73F 2B81E 2CEA2-2CEAD 2EBF0-2EE5D 31350-33479 3D000-3FC3F
"""
"""The code points that Unicode 15 to 18 assign and Unicode 14 does not."""


_APOSTROPHES = """
27 60 B4 2B9 2BB-2BF 2C8 2CA-2CB 374 384 55A 5F3 7F4-7F5 1FBD 1FBF 1FEF 1FFD-1FFE 2018-201B 2032
2035 A78B-A78C
"""
_DASHES = "2D7 2043 207B 2212"
_IGNORED = "34F 640 674 115F-1160 17B4-17B5 180B-180D 180F 3164 FE00-FE0F FFA0 E0100-E01EF"
_LATIN_NAME = re.compile(
    r"LATIN (?:SMALL|LETTER SMALL|SMALL CAPITAL) (?:CAPITAL |LETTER )?"
    r"([A-Z]|AE|DB|DZ|LS|LZ|OE|OI|OO|QP|TH|TS|UE|HV|VY|A[AOUVY])(?: DIGRAPH)?(?: WITH .*)?$"
)
_LATIN = {
    **{"ð": "d", "ᴆ": "d", "ꝱ": "d", "ꝺ": "d", "ə": "e", "ǝ": "e", "ɛ": "e", "ᶓ": "e", "ꝼ": "f"},
    **{"ɡ": "g", "ɧ": "h", "ı": "i", "ɩ": "i", "ȷ": "j", "ɟ": "j", "ꝇ": "l", "ꝲ": "l", "ꝳ": "m"},
    **{"ŋ": "n", "ꝴ": "n", "ɵ": "o", "œ": "oe", "ĸ": "q", "ꝵ": "r", "ꝶ": "r", "ẜ": "s", "ẝ": "s"},
    **{
        "ꝷ": "t",
        "ꞇ": "t",
        "þ": "th",
        "ꝥ": "th",
        "ꝧ": "th",
        "ʉ": "u",
        "ỽ": "v",
        "ỻ": "ll",
        "ᴃ": "b",
    },
}
"""Letters whose names do not begin with the letter that they are read as."""
_ARABIC_FORMS = {
    "ALEF": ("ALEF WASLA", "ALEF WITH WAVY HAMZA ABOVE", "ALEF WITH WAVY HAMZA BELOW"),
    "YEH": ("ALEF MAKSURA", "FARSI YEH", "YEH BARREE"),
    "KAF": ("KEHEH",),
    "HEH": ("TEH MARBUTA", "AE", "HEH GOAL"),
}
SYMBOLS = "#%&*@"
NO_LETTER = "no letter"
FIRST_SCRIPTS = ("LATIN", "GREEK", "CYRILLIC")
SCRIPTS = (*FIRST_SCRIPTS, "HEBREW", "ARABIC", NO_LETTER)
"""The scripts whose letters lose their marks. White space and punctuation have none either."""


@lru_cache(maxsize=4096)
def fold_plainly(text: str, version: int) -> str:
    """The normal form of a text. What Unicode 14 does not assign stays as it is."""
    fold_run = _fold_run if version == 1 else _fold_run_alike
    runs = ((known, "".join(run)) for known, run in groupby(text, is_in_unicode_14))
    return " ".join("".join(fold_run(run) if known else run for known, run in runs).split())


@lru_cache(maxsize=4096)
def read_plainly(text: str, rules: TextRules) -> tuple[str, ...]:
    """The readings of a text by the rules of its field; none that is empty."""
    folded = fold_plainly(text, rules.fold)
    readings = [folded]
    if rules.kind == "phone" and rules.fold > 1:
        return read_number_plainly(_cut_extension(folded), rules.region or "JP")
    if rules.kind == "phone":
        readings = [_read_phone(folded)]
    elif rules.kind == "company":
        words = _list_company_words(folded)
        named = [word for word in words if word not in LEGAL_FORMS.values()]
        bare = [word for word in named if word.rstrip(".") not in _LATIN_FORMS]
        readings = [" ".join(words), " ".join(bare)]
    if rules.fold > 1:
        readings = [_split_plainly(reading) for reading in readings]
    return tuple(dict.fromkeys(filter(None, readings)))


def _split_plainly(folded: str) -> str:
    """The words of a folded text, without punctuation, and with each symbol at the end of one."""
    plain = "".join(" " if _ends_word(character) else character for character in folded)
    words: list[str] = []
    for chunk in plain.split():
        parts = ["".join(part) for _, part in groupby(chunk, _is_symbol)]
        if _is_symbol(chunk[0]):
            words.append(parts.pop(0))
        while parts:  # a letter part, and the symbols after it
            words.append("".join(parts[:2]))
            del parts[:2]
    return " ".join(words) or folded


def _ends_word(character: str) -> bool:
    is_punctuation = unicodedata.category(character)[0] == "P" and character not in SYMBOLS
    return is_punctuation and is_in_unicode_14(character)


def _is_symbol(character: str) -> bool:
    is_sign = unicodedata.category(character)[0] == "S" or character in SYMBOLS
    return is_sign and is_in_unicode_14(character)


def _fold_run(run: str) -> str:
    """The first normal form of code points that Unicode 14 assigns."""
    small = unicodedata.normalize("NFKC", run).casefold()
    unmarked = "".join(_list_unmarked(unicodedata.normalize("NFD", small), FIRST_SCRIPTS))
    kana = unicodedata.normalize("NFC", unmarked).translate(_list_kana())
    return unicodedata.normalize("NFKC", kana)


def _fold_run_alike(run: str) -> str:
    """The second normal form: what people type alike is alike."""
    alike = "".join(map(_read_alike, run))
    small = unicodedata.normalize("NFKC", alike).casefold()
    unmarked = "".join(_list_unmarked(unicodedata.normalize("NFD", small), SCRIPTS))
    again = "".join(map(_read_alike, unicodedata.normalize("NFC", unmarked)))
    return unicodedata.normalize("NFKC", again)


@lru_cache(maxsize=4096)
def _read_alike(character: str) -> str:
    category, name = unicodedata.category(character), unicodedata.name(character, "")
    if ord(character) in _list_codes(_APOSTROPHES):
        return "'"
    if category == "Pd" or ord(character) in _list_codes(_DASHES):
        return "-"
    if category == "Nd":
        return str(int(unicodedata.numeric(character)))
    is_control = category == "Cc" and character.strip() != ""
    if category == "Cf" or is_control or ord(character) in _list_codes(_IGNORED):
        return ""
    for plain, forms in _ARABIC_FORMS.items():
        if name in [f"ARABIC LETTER {form}" for form in forms]:
            return unicodedata.lookup(f"ARABIC LETTER {plain}")
    named = _LATIN_NAME.match(name)
    latin = named[1].lower() if named and not unicodedata.decomposition(character) else ""
    return latin or _LATIN.get(character) or chr(_list_kana().get(ord(character), ord(character)))


def _list_unmarked(text: str, scripts: Collection[str]) -> Iterator[str]:
    """The characters without the marks of letters of these scripts."""
    script = ""
    for character in text:
        if not unicodedata.combining(character):
            is_letter = unicodedata.category(character)[0] not in "PZ" and character.strip()
            name = unicodedata.name(character, "").partition(" ")[0]
            script = name if is_letter else NO_LETTER
            yield character
        elif script not in scripts:
            yield character


@lru_cache(maxsize=1)
def _list_kana() -> dict[int, int]:
    """Hiragana, each with its katakana, by their names."""
    names = {code: unicodedata.name(chr(code), "") for code in range(0x3041, 0x309F)}
    return {
        code: ord(unicodedata.lookup(name.replace("HIRAGANA", "KATAKANA")))
        for code, name in names.items()
        if name.startswith("HIRAGANA")
    }


def is_in_unicode_14(character: str) -> bool:
    """Whether Unicode 14 assigns a code point, alike on every Python from 3.11 on."""
    is_later = ord(character) in _list_codes(_ADDED_LATER)
    return unicodedata.category(character) != "Cn" and not is_later


@lru_cache(maxsize=16)
def _list_codes(text: str) -> frozenset[int]:
    bounds = ([int(end, 16) for end in word.split("-")] for word in text.split())
    return frozenset(code for ends in bounds for code in range(ends[0], ends[-1] + 1))


def _cut_extension(folded: str) -> str:
    for mark in _EXTENSIONS:
        folded = folded.partition(mark)[0]
    return folded


def _read_phone(folded: str) -> str:
    """The digits as dialled in Japan, without an extension, by the first fold."""
    folded = _cut_extension(folded)
    abroad = folded.removeprefix("+").lstrip(" ")
    if not folded.startswith("+") or not abroad.startswith("81"):
        return _select_digits(folded)
    number = re.sub(r"^[^0-9(]+", "", abroad[2:])
    trunk = "(0)" if number.startswith("(0)") else "0"
    return f"0{_select_digits(number.removeprefix(trunk))}"


def _select_digits(text: str) -> str:
    return "".join(character for character in text if character in DIGITS)


def _list_company_words(folded: str) -> list[str]:
    """The words of a company's name, with each legal form as a word in one spelling."""
    for sign, form in LEGAL_FORMS.items():
        folded = folded.replace(f"({sign})", f" {form} ")
    for form in LEGAL_FORMS.values():
        folded = folded.replace(form, f" {form} ")
    runs = ("".join(run) for _, run in groupby(folded, lambda character: character in ", "))
    text = _CO_LTD.sub(r"\1co ltd", "".join(map(_join_initials, runs)))
    return _FINAL_POINTS.sub(r"\1\2", text).replace(",", " ").split()


def _join_initials(word: str) -> str:
    """A word of letters with points, such as ``k.k.``, without the points."""
    letters, points = word[::2], word[1::2]
    has_initials = set(points) == {"."} and set(letters) <= set(_LETTERS)
    return letters if has_initials else word
