"""Tables of millions of items. Each table is kept in a file of Dynoxide.

An existing file is used without a change. Its name contains a digest of the items that are derived
from its first contacts, so a change of the derivation makes another file.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import queue
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

from bench.search import dynoxide_file
from daicho.storage.attributes import Image

FOLDER = Path(__file__).parent.parent.parent / ".local/bench/search"
BYTES_AN_ITEM = 1_200
"""Approximate bytes of an item on disk, with its row in an index."""

PROCESSES = max(2, os.cpu_count() or 1)
AT_ONCE = 100_000
"""Items that a process makes and sorts before it hands them over."""

COMPARED = 3_000
"""Items of each file that are compared with the result of Dynoxide's own import."""


class Maker(Protocol):
    """Makes a table's items, in several processes at once."""

    def items(self, share: int, of: int) -> Iterator[Image]:
        """Every ``of``-th item, from the ``share``-th on."""

    def collect_facts(self) -> Any:
        """The facts about the items that this process makes."""

    def rest(self, learnt: Sequence[Any]) -> tuple[list[Image], dict[str, Any]]:
        """Items that depend on all shares, and the statistics of the table."""


@dataclass(frozen=True)
class Dataset:
    """A table that must contain about ``about`` items."""

    name: str
    digest: str
    create: dynoxide_file.CREATE
    maker: Maker
    about: int

    @property
    def table(self) -> str:
        """The table's name inside the file; Dynoxide's streams need 11 characters or more."""
        return f"daicho-{self.name}"

    @property
    def database(self) -> Path:
        """The path of the file."""
        return FOLDER / f"{self.name}-{self.digest}.db"

    @property
    def facts(self) -> dict[str, Any]:
        """The statistics that were computed while the items were made."""
        read: dict[str, Any] = json.loads(self.database.with_suffix(".json").read_text("utf-8"))
        return read


def fill(dataset: Dataset, progress: Progress) -> None:
    """Make the file with its items, unless it exists.

    Raises:
        OSError: the disk does not have enough space for it.
    """
    if dataset.database.exists():
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob(f"{dataset.name}[-.]*"):
        old.unlink()
    need = dataset.about * BYTES_AN_ITEM
    if shutil.disk_usage(FOLDER).free < need:
        raise OSError(f"{FOLDER} needs {need / 1e9:.0f} GB for {dataset.name}")
    sample = islice(dataset.maker.items(0, 1), COMPARED)
    dynoxide_file.compare_with_import(dataset.table, dataset.create, sample)
    part = dataset.database.with_suffix(".part")
    dynoxide_file.create(part, dataset.table, dataset.create)
    layout = dynoxide_file.Layout.of(part, dataset.table)
    facts: dict[str, Any] = {}
    dynoxide_file.insert(part, _blocks(dataset, layout, facts, progress))
    text = json.dumps(facts, ensure_ascii=False)
    dataset.database.with_suffix(".json").write_text(text, encoding="utf-8")
    part.rename(dataset.database)


def _blocks(
    dataset: Dataset, layout: dynoxide_file.Layout, facts: dict[str, Any], progress: Progress
) -> Iterator[dynoxide_file.Rows]:
    """The rows that the processes make, in the order of their arrival."""
    spawning = multiprocessing.get_context("spawn")
    blocks: Any = spawning.Queue(PROCESSES)
    workers = [
        spawning.Process(
            target=_work,
            args=(dataset.maker, share, PROCESSES, layout, blocks),
            daemon=True,
            name=dataset.name,
        )
        for share in range(PROCESSES)
    ]
    for worker in workers:
        worker.start()
    task = progress.add_task(dataset.name, total=dataset.about)
    facts_by_process: list[Any] = []
    try:
        while len(facts_by_process) < len(workers):
            try:
                kind, block = blocks.get(timeout=5)
            except queue.Empty:
                if any(worker.exitcode for worker in workers):
                    raise RuntimeError(f"{dataset.name}: a process ended") from None
                continue
            if kind == "rows":
                yield block
                progress.advance(task, len(block[0][1]))
            else:
                facts_by_process.append(block)
    finally:
        for worker in workers:
            worker.terminate()
        progress.remove_task(task)
    rest, statistics = dataset.maker.rest(facts_by_process)
    facts |= statistics
    if rest:
        yield layout.rows(rest)


def _work(maker: Maker, share: int, of: int, layout: dynoxide_file.Layout, blocks: Any) -> None:
    gc.disable()  # items are trees of millions of dicts, and no cycle among them
    items = maker.items(share, of)
    while block := list(islice(items, AT_ONCE)):
        _hand_over(blocks, ("rows", layout.rows(block)))
    _hand_over(blocks, ("learnt", maker.collect_facts()))


def _hand_over(blocks: Any, message: tuple[str, Any]) -> None:
    """Put the value into the queue; end the process if its parent has ended."""
    parent = multiprocessing.parent_process()
    while parent is not None and parent.is_alive():
        try:
            blocks.put(message, timeout=5)
        except queue.Full:
            continue
        return
    blocks.cancel_join_thread()
    raise SystemExit(1)


def progress_bar(console: Console) -> Progress:
    """A progress bar for the items of a table."""
    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True)
