"""The normal form of searched texts."""

import hashlib

import pytest

from daicho.search.normalise import fold


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("Ｌｅｄ　Ｚｅｐｐｅｌｉｎ", "led zeppelin"),
        ("Zéppelin", "zeppelin"),
        ("ﾊﾝｶｸ がぎ ひらがな", "ハンカク ガギ ヒラガナ"),
        ("か\u3099", "ガ"),
        ("Straße", "strasse"),
        ("İstanbul", "istanbul"),
        ("  a \t b\n", "a b"),
        ("ΆΛΦΑ й", "αλφα и"),
        ("", ""),
    ],
)
def test_fold(text: str, normal: str) -> None:
    assert fold(text) == normal
    assert fold(normal) == normal


def test_what_unicode_14_does_not_assign_passes_unchanged() -> None:
    assert fold("A\U0001fae8B") == "a\U0001fae8b"


def test_every_python_folds_every_code_point_alike() -> None:
    # The digest is that of Python 3.11, 3.12 and 3.13; another would change what images derive.
    digest = hashlib.sha256()
    for code in (*range(0xD800), *range(0xE000, 0x110000)):
        digest.update(fold(f"a{chr(code)}か").encode() + b"\0")
    assert digest.hexdigest().startswith("14219da7a61256cc")
