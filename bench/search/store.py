"""Tables of millions of items: written as a DynamoDB export, imported by Dynoxide, kept as a file.

A file that is there is taken as it is. Its name holds a digest of what its first contacts derive,
so another way of deriving makes another file.
"""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.progress import Progress, SpinnerColumn, TimeElapsedColumn

from daicho.images import Image
from tests.dynoxide import client, program, serving

FOLDER = Path(__file__).parent.parent.parent / ".local/bench/search"
LINES_A_FILE = 500_000
BYTES_AN_ITEM = 3_000
"""What an item may take while it is imported: in the table and an index, twice for a moment."""

CreateTable = Callable[[Any, str], object]


@dataclass(frozen=True)
class Wanted:
    """A table to be filled. ``items`` are made when they are needed; ``about`` so many."""

    name: str
    digest: str
    create: CreateTable
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
    """Have the file, by making and importing its items unless it is there.

    Raises:
        OSError: the disk has too little room for it.
    """
    if wanted.database.exists():
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in (*FOLDER.glob(f"{wanted.name}-*.db*"), *FOLDER.glob(f"{wanted.name}-*.json")):
        old.unlink()
    need = wanted.about * BYTES_AN_ITEM
    if shutil.disk_usage(FOLDER).free < need:
        raise OSError(f"{FOLDER} needs {need / 1e9:.0f} GB for {wanted.name}")
    source = FOLDER / f"{wanted.name}.export"
    shutil.rmtree(source, ignore_errors=True)
    many = _export(wanted, source, progress)
    schema = source / "schema.json"
    schema.write_text(json.dumps(_description(wanted), default=str), encoding="utf-8")
    part = wanted.database.with_suffix(".part")
    _import(source, schema, part, f"{wanted.name}: {many:,} items", progress)
    wanted.database.with_suffix(".json").write_text(
        json.dumps({**wanted.facts(), "items": many}, ensure_ascii=False), encoding="utf-8"
    )
    shutil.rmtree(source)
    part.rename(wanted.database)


def _export(wanted: Wanted, source: Path, progress: Progress) -> int:
    folder = source / wanted.table / "data"
    folder.mkdir(parents=True)
    task = progress.add_task(f"{wanted.name}: made", total=wanted.about)
    file, many = None, 0
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    try:
        for many, item in enumerate(wanted.items(), 1):
            if file is None or many % LINES_A_FILE == 0:
                if file is not None:
                    file.close()
                path = folder / f"{many // LINES_A_FILE:05d}.json.gz"
                file = gzip.open(path, "wt", compresslevel=1, encoding="utf-8")  # noqa: SIM115
            file.write(encode({"Item": item}) + "\n")
            if many % 10_000 == 0:
                progress.update(task, completed=many)
    finally:
        if file is not None:
            file.close()
        progress.remove_task(task)
    return many


def _description(wanted: Wanted) -> Mapping[str, Any]:
    with serving() as endpoint:
        dynamodb: Any = client(endpoint)
        wanted.create(dynamodb, wanted.table)
        table: Mapping[str, Any] = dynamodb.describe_table(TableName=wanted.table)
        return {"Table": table["Table"]}


def _import(source: Path, schema: Path, output: Path, what: str, progress: Progress) -> None:
    task = progress.add_task(f"{what} imported", total=None)
    command = [program(), "import", "--force", "--source", source, "--schema", schema]
    done = threading.Event()

    def watch() -> None:
        while not done.wait(2):
            size = sum(each.stat().st_size for each in output.parent.glob(".tmp*"))
            progress.update(task, description=f"{what} imported ({size / 1e9:.1f} GB)")

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        subprocess.run(  # noqa: S603 (our own paths)
            [*map(str, command), "--output", str(output)], check=True, stdout=subprocess.DEVNULL
        )
    finally:
        done.set()
        watcher.join()
        progress.remove_task(task)


def progress_bar(console: Any) -> Progress:
    """A bar that shows what is being made."""
    columns = [SpinnerColumn(), *Progress.get_default_columns(), TimeElapsedColumn()]
    return Progress(*columns, console=console, transient=True)
