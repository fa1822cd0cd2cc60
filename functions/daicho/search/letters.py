"""Characters that the newest fold takes for others: `docs/reference/text-folding.md`."""

from __future__ import annotations

from collections.abc import Mapping

DIGITS = frozenset("0123456789")
APOSTROPHES = frozenset(
    "'`\u00b4\u02b9\u02bb\u02bc\u02bd\u02be\u02bf\u02c8\u02ca\u02cb\u0374\u0384\u055a\u05f3"
    "\u07f4\u07f5\u1fbd\u1fbf\u1fef\u1ffd\u1ffe\u2018\u2019\u201a\u201b\u2032\u2035\ua78b\ua78c"
)
DASHES = frozenset("\u02d7\u2043\u207b\u2212")
"""What is read as a dash besides the category Pd."""

FILLERS = frozenset(
    (
        *"\u034f\u0640\u0674\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0",
        *map(chr, range(0xFE00, 0xFE10)),
        *map(chr, range(0xE0100, 0xE01F0)),
    )
)
"""What is ignored besides format characters and controls: fillers, variation selectors, the Arabic
tatweel and high hamza."""

_LATIN = """
a ᴀ ᶏ ⱥ; aa ꜳ; ae æ ᴁ; ao ꜵ; au ꜷ; av ꜹ ꜻ; ay ꜽ; b ƀ ƃ ɓ ʙ ᴃ ᵬ ᶀ ꞗ; c ƈ ȼ ɕ ᴄ ꞓ ꞔ 𝼝;
d ð đ ƌ ȡ ɖ ɗ ᴅ ᴆ ᵭ ᶁ ᶑ ꝱ ꝺ ꟈ; db ȸ; dz ʣ ʥ ꭦ; e ǝ ɇ ə ɛ ᴇ ᶒ ᶓ ⱸ ꬴ; f ƒ ᵮ ᶂ ꜰ ꝼ ꞙ;
g ǥ ɠ ɡ ɢ ʛ ᶃ ꞡ; h ħ ɦ ɧ ʜ ⱨ ꞕ; hv ƕ; i ı ɨ ɩ ɪ ᵻ ᶖ 𝼚; j ȷ ɉ ɟ ʝ ᴊ; k ƙ ᴋ ᶄ ⱪ ꝁ ꝃ ꝅ ꞣ;
l ł ƚ ȴ ɫ ɬ ɭ ʟ ᴌ ᶅ ⱡ ꝇ ꝉ ꝲ ꞎ ꬷ ꬸ ꬹ 𝼄 𝼑 𝼓; ll ỻ; ls ʪ; lz ʫ; m ɱ ᴍ ᵯ ᶆ ꝳ ꬺ;
n ŋ ƞ ȵ ɲ ɳ ɴ ᵰ ᶇ ꝴ ꞑ ꞥ ꬻ; o ø ɵ ᴏ ⱺ ꝋ ꝍ 𝼛; oe œ ɶ; oi ƣ; oo ꝏ; p ƥ ᴘ ᵱ ᵽ ᶈ ꝑ ꝓ ꝕ;
q ĸ ɋ ʠ ꝗ ꝙ ꞯ; qp ȹ; r ɍ ɼ ɽ ɾ ʀ ᵲ ᵳ ᶉ ꝵ ꝶ ꞧ ꭆ ꭉ 𝼖; s ȿ ʂ ᵴ ᶊ ẜ ẝ ꜱ ꞩ ꟊ 𝼞;
t ŧ ƫ ƭ ȶ ʈ ᴛ ᵵ ⱦ ꝷ ꞇ 𝼉; th þ ᵺ ꝥ ꝧ; ts ʦ ꭧ; u ʉ ᴜ ᵾ ᶙ ꞹ ꭎ ꭒ; ue ᵫ; v ʋ ᴠ ᶌ ỽ ⱱ ⱴ ꝟ; vy ꝡ;
w ᴡ ⱳ; x ᶍ ꭖ ꭗ ꭘ ꭙ; y ƴ ɏ ʏ ỿ ꭚ; z ƶ ȥ ɀ ʐ ʑ ᴢ ᵶ ᶎ ⱬ
"""
"""Small letters by CLDR's transform Latin-ASCII, and those of the same kind that it leaves out: a
letter with a stroke, a hook or a tail. People type e and o for schwa and barred o."""

_ARABIC = "ا ٱ ٲ ٳ; ي ى ی ے; ك ک; ه ة ە ہ"
"""Letters that keyboards of Arabic, Persian and Urdu have in different forms. Carriers of a hamza
lose it as a mark."""


def _read_letters(text: str) -> dict[str, str]:
    groups = (group.split() for group in text.split(";"))
    return {letter: plain for plain, *letters in groups for letter in letters}


LETTERS: Mapping[str, str] = {**_read_letters(_LATIN), **_read_letters(_ARABIC)}
