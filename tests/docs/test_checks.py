"""Each check finds what is planted in a bad page, and nothing in plain English."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.__main__ import main
from tests.docs.links import find_broken_links, find_renamed_links, list_external_links
from tests.docs.prose import find_banned_words, find_long_sentences, list_blocks
from tests.docs.rendering import find_unrendered_lists
from tests.docs.spelling import find_misspellings


def write_page(folder: Path, text: str) -> Path:
    """A page of this text."""
    page = folder / "page.md"
    page.write_text(text, "utf-8")
    return page


@pytest.mark.parametrize(
    "sentence",
    [
        "The number stands in the item.",
        "Both objects lie there, and a third lies in the bucket.",
        "The run goes on with the next page.",
        "The table says which.",
        "Each failure is told by a metric.",
        "The index is asked first.",
        "The stack follows by itself.",
        "A client asks anew.",
        "Who was too slow gets a 409.",
        "The item is stored. Whose item it is not gets a 404.",
        "What is searched and must be given is not empty.",
        "Of a deleted item all indexes are removed.",
        "- a list item that\n  says so",
        "| a | b |\n|---|---|\n| x | it stands here |",
        "## How the lock stands",
    ],
)
def test_banned_words_are_found(sentence: str, tmp_path: Path) -> None:
    assert list(find_banned_words(write_page(tmp_path, sentence))) != []


@pytest.mark.parametrize(
    "sentence",
    [
        "PITR stands for point-in-time recovery, and this figure stands out.",
        "Who may write an item? The tenant that owns it.",
        "An engineer who is on call goes on call at nine.",
        "The function `says` what `stands` in it.",
        'The log line "what lies there goes on" is a quotation.',
        "> He says that it stands.",
        "```\nit says: it stands\n```",
        "Each index is known by its name. Several records are found at the same time.",
        "## What is promised",
        "The known limits are on this page; the metric tells you the age.",
        "Say that there are 100 items. You can tell them apart.",
    ],
)
def test_plain_english_is_not(sentence: str, tmp_path: Path) -> None:
    assert list(find_banned_words(write_page(tmp_path, sentence))) == []


def test_long_sentences_are_found(tmp_path: Path) -> None:
    long, longest = " ".join(["word"] * 41) + ".", " ".join(["word"] * 40) + "."
    page = write_page(tmp_path, f"Short.\n\n{long} {longest}\nNext.\n\n* {long}\n\n## {long}\n")
    assert [message.partition(":")[0] for message in find_long_sentences(page)] == ["3", "6", "8"]
    harmless = f'> {long}\n\n| a |\n|---|\n| {long} |\n\n```\n{long}\n```\n\n`{long}` "{long}"\n'
    assert list(find_long_sentences(write_page(tmp_path, harmless))) == []


def test_a_block_has_the_line_that_it_begins_in(tmp_path: Path) -> None:
    page = write_page(tmp_path, "# A\n\none\ntwo e.g. three. Four.\n\n| a |\n|---|\n| b |\n")
    blocks = list(list_blocks(page))
    assert [(block.kind, block.line) for block in blocks] == [
        ("heading", 1), ("paragraph", 3), ("table", 6), ("table", 8),
    ]  # fmt: skip
    assert list(blocks[1].sentences()) == ["one two e.g. three.", "Four."]


MODULE = '''"""A module.

A key table is no prose::

    PK #shard    SK claims, and here stands what an item says about it

- The first item of a list. What is
  promised here goes on in the next line.
"""


class Reader:
    """A reader of ``what says``, `stands` and ``lies``.

    Attributes:
        name: its name, which
            says what it is. Second.
        says: a name is no prose.

    The text after a section stands here.
    """

    LIMIT = 3
    """What lies below it."""

    def read(self) -> None:
        """Read.

        Raises:
            Invalid: it says so.

            StoreError: a store fails.
        """
        return "it stands"
'''


def test_banned_words_are_found_in_docstrings(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(MODULE, "utf-8")
    found = [message.partition(": is")[0].split(":")[:2] for message in find_banned_words(module)]
    assert sorted((int(line), word.strip()) for line, word in found) == [
        (7, "'goes on'"),
        (16, "'says'"),
        (20, "'stands'"),
        (24, "'lies'"),
        (30, "'says'"),
    ]


def test_each_entry_of_a_docstring_is_a_block(tmp_path: Path) -> None:
    words = " ".join(["word"] * 25)
    entries = f"    Args:\n        a: {words}\n        b: {words}\n            {words}\n"
    module = tmp_path / "module.py"
    module.write_text(f'def f(a, b):\n    """Do.\n\n{entries}    """\n', "utf-8")
    assert [message.split(":")[:2] for message in find_long_sentences(module)] == [
        ["6", " 51 words"]
    ]


@pytest.mark.parametrize(
    "link",
    ["missing.md", "page.md#nothing", "#nothing", "#twice", "../page.md", "other.txt#anchor"],
)
def test_broken_links_are_found(link: str, tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("text", "utf-8")
    page = write_page(tmp_path, f"# Twice\n\n## Twice\n\nSee [it]({link}).\n")
    assert [message.partition(":")[0] for message in find_broken_links(page)] == ["5"]
    image = write_page(tmp_path, f"![a drawing]({link})\n\n# Twice\n\n## Twice\n")
    assert len(list(find_broken_links(image))) == 1


def test_links_with_the_path_of_another_file_are_found(tmp_path: Path) -> None:
    text = "[`a/old.py`](a/new.py) [`a/new.py`](../a/new.py#L1) [`Name`](a/new.py)"
    page = write_page(tmp_path, f"# Links\n\n{text}\n")
    assert list(find_renamed_links(page)) == ["3: a/old.py: leads to a/new.py"]


def test_links_that_resolve_are_not(tmp_path: Path) -> None:
    text = "# The `key` of a *list*, twice!\n\n[a](#the-key-of-a-list-twice) [b](page.md) [c](https://example.com/x)"
    page = write_page(tmp_path, text + "\n\n```\n[no](link.md)\n```\n\n`[no](link.md)`\n")
    assert list(find_broken_links(page)) == []
    assert list(list_external_links(page)) == ["https://example.com/x"]


def test_lists_that_the_site_does_not_show_are_found(tmp_path: Path) -> None:
    text = "Text:\n- a\n- b\n\nText:\n\n1. a\n   - b\n\n   ```\n   code\n   ```\n"
    page = write_page(tmp_path, text)
    assert [message.partition(":")[0] for message in find_unrendered_lists(page)] == [
        "2",
        "8",
        "10",
    ]
    good = "# A\n- a\n    - b\n\n        ```\n        code\n        ```\n\nText:\n\n- a\n  more\n"
    assert list(find_unrendered_lists(write_page(tmp_path, good))) == []


def test_misspellings_are_found(tmp_path: Path) -> None:
    page = write_page(tmp_path, "A seperate item.\n")
    (message,) = find_misspellings([page])
    assert "seperate ==> separate" in message
    assert list(find_misspellings([write_page(tmp_path, "A separate item, serialised.\n")])) == []


def test_the_command_prints_findings_and_exits_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = write_page(tmp_path, "It stands.\n")
    assert main([str(page)]) == 1
    assert "page.md:1: 'stands': is, is stored" in capsys.readouterr().out
    page.write_text("It is stored.\n", "utf-8")
    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == "1 files, 0 findings\n"
    (tmp_path / "module.py").write_text('"""It stands."""\n', "utf-8")
    assert main([str(tmp_path)]) == 1
    assert "module.py:1: 'stands': is, is stored" in capsys.readouterr().out
