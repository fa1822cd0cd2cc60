"""Navigation by folders, and links to files of the repository: hooks of the site's generator.

Pages link to files outside ``docs`` (a domain file, CONTRIBUTING.md) as they do in the repository.
The site gets a copy of each linked file: Markdown files as pages in ``project/``, others as text in
``files/``.
"""

from __future__ import annotations

import re
from os.path import relpath
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SECTIONS = {
    "Tutorial": "tutorial",
    "How-to guides": "how-to",
    "Reference": "reference",
    "Explanation": "explanation",
    "Benchmarks": "benchmarks",
    "Decisions": "adr",
    "Project": "project",
}
"""The sections in the order of the navigation, and their folders."""
SEARCH_BOOSTS = {
    "tutorial": 4,
    "how-to": 4,
    "reference/declarations": 4,
    "reference": 1.5,
    "explanation": 2,
    "benchmarks": 1,
    "adr": 0.2,
    "project": 0.2,
}
"""Factors of the ranks of a folder's pages in the search: an answer comes before its history."""
FENCE = re.compile(r"^( *)(`{3,}|~{3,}).*?^\1\2\s*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?P<head>\]\()(?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?(?P<tail>\))")


def place_of(source: Path) -> str | None:
    """Where the site has a file of the repository; ``None`` if it has no place for it."""
    if source.is_relative_to(DOCS):
        return source.relative_to(DOCS).as_posix()
    if not source.is_file() or not source.is_relative_to(ROOT):
        return None
    path = source.relative_to(ROOT).as_posix()
    return f"project/{path}" if source.suffix == ".md" else f"files/{path}.txt"


def list_linked_files(source: Path) -> set[Path]:
    """The files outside ``docs`` that a page links to."""
    text = FENCE.sub("", source.read_text("utf-8"))
    linked = {(source.parent / m["target"]).resolve() for m in LINK.finditer(text)}
    return {file for file in linked if file.is_file() and not file.is_relative_to(DOCS)}


def on_files(files: Any, config: Any) -> Any:
    """Add the files outside ``docs`` that pages link to, and make the navigation."""
    waiting = {
        Path(f.abs_src_path) for f in files.documentation_pages() if not f.inclusion.is_excluded()
    }
    seen: set[Path] = set()
    while waiting:
        source = waiting.pop()
        for linked in list_linked_files(source) - seen:
            seen.add(linked)
            place = place_of(linked)
            if place is None:
                continue
            files.append(File.generated(config, place, abs_src_path=str(linked)))
            if linked.suffix == ".md":
                waiting.add(linked)
    pages = sorted(f.src_uri for f in files.documentation_pages() if not f.inclusion.is_excluded())
    config.nav = ["index.md", *({name: _list_folder(pages, f)} for name, f in SECTIONS.items())]
    config.nav = [
        entry for entry in config.nav if entry == "index.md" or next(iter(entry.values()))
    ]
    return files


def _list_folder(pages: list[str], folder: str) -> list[Any]:
    """The navigation of a folder: its index, its pages, then the folders in it."""
    inside = [PurePosixPath(page) for page in pages if page.startswith(f"{folder}/")]
    own = [page for page in inside if str(page.parent) == folder]
    entries: list[Any] = [str(p) for p in sorted(own, key=lambda p: (p.name != "index.md", p.name))]
    for name in sorted(
        {page.relative_to(folder).parts[0] for page in inside} - {p.name for p in own}
    ):
        entries.append(
            {name.replace("-", " ").capitalize(): _list_folder(pages, f"{folder}/{name}")}
        )
    return entries


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Point links to files outside ``docs`` at their copies on the site."""
    parents = map(str, PurePosixPath(page.file.src_uri).parents)
    boost = next((SEARCH_BOOSTS[folder] for folder in parents if folder in SEARCH_BOOSTS), 1)
    page.meta.setdefault("search", {}).setdefault("boost", boost)
    source = Path(page.file.abs_src_path).resolve()
    here = PurePosixPath(page.file.src_uri).parent

    def point(match: re.Match[str]) -> str:
        target = match["target"]
        if re.match(r"[a-z]+:", target):
            return match[0]
        linked = (source.parent / target).resolve()
        if linked.is_relative_to(DOCS) and source.is_relative_to(DOCS):
            return match[0]
        place = place_of(linked)
        if place is None:  # a folder: the text stays, the link goes
            return "]" if linked.exists() else match[0]
        return f"{match['head']}{relpath(place, here)}{match['anchor'] or ''}{match['tail']}"

    fences = [fence[0] for fence in FENCE.finditer(markdown)]
    parts = FENCE.split(markdown)[:: FENCE.groups + 1]
    texts = [LINK.sub(point, part) for part in parts]
    return "".join(text + fence for text, fence in zip(texts, [*fences, ""], strict=True))
