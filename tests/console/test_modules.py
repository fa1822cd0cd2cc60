"""The console's own modules: types, rules, sizes, and texts that end as the API reads them."""

from __future__ import annotations

import gzip
import random
import subprocess
import unicodedata
from pathlib import Path

import pytest
from playwright.sync_api import Page

from daicho.search.normalise import fold
from daicho.search.unicode14 import is_assigned
from daicho.web.console.files import STATIC, ConsoleFiles, shorten
from tests.console import install

HERE = Path(__file__).parent
MODULES = [path for path in sorted(STATIC.rglob("*.js")) if path.parent.name != "vendor"]
MAX_LINES = 300
MAX_BYTES = 109_300
"""Of all files that a visit asks for, compressed."""
LAST_CODE_POINT = 0x2FA1D
"""The last one that has a normal form of its own."""


def run_tool(name: str, *arguments: str) -> str:
    """The output of a tool that npm has; empty if it finds nothing."""
    install.install()
    tool = install.FOLDER / "node_modules/.bin" / name
    done = subprocess.run(
        [tool, *arguments], cwd=install.ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr if done.returncode else ""


def test_types_are_right() -> None:
    assert run_tool("tsc", "-p", str(HERE / "tsconfig.json")) == ""


def test_the_rules_are_kept(tmp_path: Path) -> None:
    rules = ("--no-warn-ignored", "-c", str(HERE / "eslint.config.mjs"))
    assert run_tool("eslint", *rules, str(STATIC)) == ""


def test_modules_are_short() -> None:
    assert len(MODULES) > 20
    lengths = {path.name: len(path.read_text("utf-8").splitlines()) for path in MODULES}
    assert {name: lines for name, lines in lengths.items() if lines >= MAX_LINES} == {}


def measure_visit(*left_out: str) -> int:
    """Compressed bytes of all files that a visit asks for, each as it is served."""
    files = ConsoleFiles()
    for part in left_out:
        assert any(part in name for name in files.assets), part
    served = [
        page.text
        for name, page in files.assets.items()
        if not any(part in name for part in left_out)
    ]
    return sum(len(gzip.compress(text.encode())) for text in (files.render_index(), *served))


@pytest.mark.parametrize(
    "left_out",
    [
        pytest.param(("pages.ops-", "pages.figures"), id="data"),
        pytest.param(("pages.ops-", "pages.item"), id="figures"),
        pytest.param(("pages.item", "pages.figures"), id="stack"),
    ],
)
def test_a_visit_is_small(left_out: tuple[str, str]) -> None:
    """A page is loaded when it is opened: no visit opens those of items, figures and the stack."""
    size = measure_visit(*left_out)
    print(f"{size:,} bytes compressed")  # noqa: T201
    assert size <= MAX_BYTES


def test_only_comments_and_indentation_are_left_out() -> None:
    for path in MODULES:
        text = path.read_text("utf-8")
        served = shorten(text)
        assert len(served) < len(text)
        lines = iter(text.splitlines())
        for line in served.splitlines():
            # Each line is one of the file's, in their order, and each line between is a comment's.
            for original in lines:
                if remove_types(original).lstrip() == line:
                    break
                assert original.strip().startswith(("/**", "*", "//")), (path.name, original)


def remove_types(line: str) -> str:
    """A line without the types in it: ``/** @type {Event} */``."""
    before, *others = line.split("/** @")
    for other in others:
        kind, _, after = other.partition("*/")
        is_type = kind.startswith(("param {", "type {"))
        before += after.removeprefix(" ") if is_type else f"/** @{other}"
    return before


def test_no_style_or_script_is_in_the_markup() -> None:
    for path in MODULES:
        text = path.read_text("utf-8")
        assert 'style="' not in text
        assert "innerHTML" not in text


def test_texts_are_folded_as_the_api_folds_them(page: Page) -> None:
    points = [
        chr(code)
        for code in range(LAST_CODE_POINT + 1)
        if is_assigned(chr(code)) and not 0xD800 <= code <= 0xDFFF and not 0xE000 <= code <= 0xF8FF
    ]
    rng = random.Random(24)
    words = ["".join(rng.choices(points[:12_000], k=6)) for _ in range(2_000)]
    cases = [*points, *words, "ｶﾞｷﾞ ﾊﾟ", "Straße ΟΔΟΣ", "é É e\u0301", "か\u3099", "İı"]
    folded = page.evaluate(
        "async (texts) => { const { fold } = await import('console/normalise.js');"
        " return texts.map(fold); }",
        cases,
    )
    wrong = {
        case: (theirs, fold(case))
        for case, theirs in zip(cases, folded, strict=True)
        if theirs != fold(case)
    }
    names = {unicodedata.name(case[0], "?")[:20] for case in wrong}
    assert len(wrong) <= len(cases) // 200, (len(wrong), sorted(names)[:40])


MARKED = [
    ("Yamada Hanako", "ya", ["Ya"]),
    ("Led Zeppelin", "zep", ["Zep"]),
    ("ledger Zeppelin", "ledzep", []),
    ("Led Zeppelin", "ledzep", ["Led Zep"]),
    ("ヤマダ", "やま", ["ヤマ"]),
    ("ﾔﾏﾀﾞ", "やまだ", ["ﾔﾏﾀﾞ"]),
    ("José Müller", "jose mull", ["José Müll"]),
    ("José Anna Müller", "jose mull", ["José", "Müll"]),
    ("株式会社サンプル", "サンプル", ["サンプル"]),
    ("090-1111-2222", "0901111", ["090-1111"]),
    ("<b>bold</b>", "<b", ["<b"]),
    ("Jean-Luc Picard", "luc", ["Luc"]),
    ("Jean-Luc Picard", "jeanluc", ["Jean-Luc"]),
    ("O’Brien", "o'brien", ["O’Brien"]),
    ("Łódź", "lodz", ["Łódź"]),
    ("AC/DC", "dc", ["DC"]),
    ("at&t b", "b", ["b"]),
    ("שָׁלוֹם", "שלום", ["שָׁלוֹם"]),
    ("٠٣١٢٣٤٥", "031", ["٠٣١"]),
    ("+44 (0)20 7946 0018", "004420", ["44 (0)20"]),
    ("+44 (0)20 7946 0018", "020", ["0)20"]),
    ("+81 3 1234", "03 1", ["3 1"]),
]


def test_matches_are_marked(page: Page) -> None:
    marked = page.evaluate(
        "async (cases) => { const { markMatches } = await import('console/normalise.js');"
        " return cases.map(([text, keyword]) => markMatches(text, keyword)); }",
        MARKED,
    )
    for (text, keyword, expected), parts in zip(MARKED, marked, strict=True):
        assert "".join(part["text"] for part in parts) == text
        found = [part["text"] for part in parts if part["isMatch"]]
        assert found == expected, (text, keyword)
