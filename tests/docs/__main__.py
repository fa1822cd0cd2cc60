"""Check pages: ``python -m tests.docs [--external] [file or folder …]``; without one, all pages.

In a Python file the sentences of the docstrings are checked.
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

PROSE_CHECKS = (find_banned_words, find_long_sentences)
PAGE_CHECKS = (find_broken_links, find_unrendered_lists)


def expand_paths(names: list[str]) -> Iterator[Path]:
    """The files that are named, and the pages and modules in folders that are named."""
    for name in names:
        path = Path(name).resolve()
        yield from sorted([*path.rglob("*.md"), *path.rglob("*.py")]) if path.is_dir() else [path]


def check_file(path: Path) -> Iterator[str]:
    """What the checks find in a page, or in the docstrings of a module."""
    checks = PROSE_CHECKS if path.suffix == ".py" else (*PROSE_CHECKS, *PAGE_CHECKS)
    return (f"{path}:{message}" for find in checks for message in find(path))


def main(arguments: list[str]) -> int:
    """Print what the checks find; return the exit status."""
    names = [name for name in arguments if not name.startswith("--")]
    pages = list(expand_paths(names)) if names else list_pages()
    if "--external" in arguments:
        print("\n".join(sorted({link for page in pages for link in list_external_links(page)})))
        return 0
    messages = [message for page in pages for message in check_file(page)]
    messages += find_misspellings([page for page in pages if page.suffix != ".py"])
    here = f"{Path.cwd()}/"
    for message in messages:
        print(message.replace(here, ""))
    print(f"{len(pages)} files, {len(messages)} findings")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
