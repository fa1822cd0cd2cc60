"""Check pages: ``python -m tests.docs [--external] [file or folder …]``; without one, all pages.

The exit status is 1 if something is found. ``--external`` lists the addresses outside the
repository; they are never fetched.
"""

# ruff: noqa: T201  # it is a command

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from tests.docs.links import find_broken_links, list_external_links
from tests.docs.pages import list_pages
from tests.docs.prose import find_banned_words, find_long_sentences
from tests.docs.rendering import find_unrendered_lists
from tests.docs.spelling import find_misspellings

CHECKS = (find_broken_links, find_banned_words, find_long_sentences, find_unrendered_lists)


def expand_paths(names: list[str]) -> Iterator[Path]:
    """The pages that are named, and those in folders that are named."""
    for name in names:
        path = Path(name).resolve()
        yield from sorted(path.rglob("*.md")) if path.is_dir() else [path]


def main(arguments: list[str]) -> int:
    """Print what the checks find; return the exit status."""
    names = [name for name in arguments if not name.startswith("--")]
    pages = list(expand_paths(names)) if names else list_pages()
    if "--external" in arguments:
        print("\n".join(sorted({link for page in pages for link in list_external_links(page)})))
        return 0
    messages = [f"{page}:{message}" for page in pages for find in CHECKS for message in find(page)]
    messages += find_misspellings(pages)
    here = f"{Path.cwd()}/"
    for message in messages:
        print(message.replace(here, ""))
    print(f"{len(pages)} pages, {len(messages)} findings")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
