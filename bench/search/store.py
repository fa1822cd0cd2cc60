"""Tables of millions of items, each kept as a file of Dynoxide's.

A file that is there is taken as it is. Its name holds a digest of what its first contacts derive,
so another way of deriving makes another file.
"""

from __future__ import annotations

import gc
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

from bench.search import dynoxide
from daicho.images import Image

FOLDER = Path(__file__).parent.parent.parent / ".local/bench/search"
BYTES_AN_ITEM = 1_200
"""About what an item takes on disk, with its row in an index."""

COMPARED = 3_000
"""Items of each file that are compared with what Dynoxide's own import makes of them."""


@dataclass(frozen=True)
class Wanted:
    """A table to be filled. ``items`` are made when they are needed; ``about`` so many."""

    name: str
    digest: str
    create: dynoxide.CREATE
    items: Callable[[], Iterable[Image]]
    about: int
    facts: Callable[[], Mapping[str, Any]] = dict

    @property
    def table(self) -> str:
        """The table's name inside the file; Dynoxide's streams want 11 characters or more."""
        return f"daicho-{self.name}"

    @property
    def database(self) -> Path:
        """The file."""
        return FOLDER / f"{self.name}-{self.digest}.db"

    @property
    def known(self) -> dict[str, Any]:
        """What was found out while the items were made."""
        read: dict[str, Any] = json.loads(self.database.with_suffix(".json").read_text("utf-8"))
        return read


def fill(wanted: Wanted, progress: Progress) -> None:
    """Have the file, by making its items unless it is there.

    Raises:
        OSError: the disk has too little room for it.
    """
    if wanted.database.exists():
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob(f"{wanted.name}-????????????.*"):
        old.unlink()
    need = wanted.about * BYTES_AN_ITEM
    if shutil.disk_usage(FOLDER).free < need:
        raise OSError(f"{FOLDER} needs {need / 1e9:.0f} GB for {wanted.name}")
    dynoxide.checked(wanted.table, wanted.create, islice(wanted.items(), COMPARED))
    part = wanted.database.with_suffix(".part")
    dynoxide.create(part, wanted.table, wanted.create)
    dynoxide.insert(part, wanted.table, _shown(wanted, progress))
    known = json.dumps(dict(wanted.facts()), ensure_ascii=False)
    wanted.database.with_suffix(".json").write_text(known, encoding="utf-8")
    part.rename(wanted.database)


def _shown(wanted: Wanted, progress: Progress) -> Iterator[Image]:
    task = progress.add_task(wanted.name, total=wanted.about)
    gc.disable()  # items are trees of millions of dicts, and no cycle among them
    try:
        for many, item in enumerate(wanted.items(), 1):
            yield item
            if many % 5_000 == 0:
                progress.update(task, completed=many, total=max(many, wanted.about))
    finally:
        gc.enable()
        progress.remove_task(task)


def progress_bar(console: Console) -> Progress:
    """A bar that shows what is being made."""
    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True)
