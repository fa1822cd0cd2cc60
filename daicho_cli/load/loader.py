"""One load: blocks of rows, with a checkpoint after each block."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from daicho.errors import Refusal
from daicho.storage.attributes import Image
from daicho_cli.checkpoint import CheckpointFile
from daicho_cli.load.checkpoint import LoadProgress
from daicho_cli.load.rows import NumberedRow, RejectedError, RowPreparer, read_rows
from daicho_cli.load.writers import BatchWriter, CheckedWriter

BLOCK_ROWS = 2_500
OnProgress = Callable[[int, int], None]


@dataclass
class Loader:
    """Loads a file. After an interruption it writes the last block again, with equal items."""

    source: Path
    checkpoint: CheckpointFile[LoadProgress]
    preparer: RowPreparer
    batches: BatchWriter | CheckedWriter
    block_rows: int = BLOCK_ROWS

    @property
    def rejected_file(self) -> Path:
        """The file for the rows that cannot be loaded."""
        return self.source.with_name(f"{self.source.name}.rejected.ndjson")

    def run(self, on_progress: OnProgress = lambda _loaded, _end: None) -> LoadProgress:
        """Load the remaining rows.

        ``on_progress`` receives the number of loaded rows and the position in the file.

        Raises:
            TenantClosed: the tenant was deleted, before or during the load.
        """
        progress = self.checkpoint.progress
        self.preparer.check_open()
        # Also before the first block: if it is interrupted, the next run needs the same seed for
        # the ids.
        self.checkpoint.save(progress)
        self._remove_later_rejects()
        rows = read_rows(self.source, progress.end, progress.line)
        while block := list(islice(rows, self.block_rows)):
            images, prepared, rejected = self._prepare_rows(block)
            self.preparer.check_open()
            loaded, block_start = progress.loaded, progress.end
            for batch_size in self.batches.write(images):
                loaded += batch_size
                on_progress(loaded, block_start)
            refused = [
                _describe_rejected(prepared[position], error)
                for position, error in self.batches.refused.items()
            ]
            self._append_rejected(sorted([*rejected, *refused], key=itemgetter("line")))
            progress.loaded += len(images) - len(refused)
            progress.end, progress.line = block[-1].end, block[-1].line + 1
            self.checkpoint.save(progress)
            on_progress(progress.loaded, progress.end)
        progress.finished = True
        self.checkpoint.save(progress)
        return progress

    def _prepare_rows(
        self, block: list[NumberedRow]
    ) -> tuple[list[Image], list[NumberedRow], list[dict[str, object]]]:
        """The items of a block, their rows, and the rows that cannot be loaded."""
        images: list[Image] = []
        prepared: list[NumberedRow] = []
        rejected: list[dict[str, object]] = []
        for row in block:
            try:
                images.append(self.preparer.build_image(row))
                prepared.append(row)
            except RejectedError as error:
                rejected.append(_describe_rejected(row, error))
        return images, prepared, rejected

    def _append_rejected(self, rejected: list[dict[str, object]]) -> None:
        if not rejected:
            return
        progress = self.checkpoint.progress
        with self.rejected_file.open("ab") as file:
            for entry in rejected:
                file.write(json.dumps(entry, ensure_ascii=True).encode() + b"\n")
            progress.rejected_bytes = file.tell()
        progress.rejected += len(rejected)

    def _remove_later_rejects(self) -> None:
        """Remove the rejected rows of the interrupted block; this run adds them again."""
        progress = self.checkpoint.progress
        if progress.rejected_bytes and self.rejected_file.exists():
            with self.rejected_file.open("r+b") as file:
                file.truncate(progress.rejected_bytes)
        elif not progress.rejected:
            self.rejected_file.unlink(missing_ok=True)


def _describe_rejected(row: NumberedRow, error: RejectedError | Refusal) -> dict[str, object]:
    content = row.raw if row.values is None else row.values
    problem = {"field": error.field, "detail": error.detail}
    return {"line": row.line, "error": problem, "row": content}


def read_rejected(path: Path) -> Iterator[dict[str, Any]]:
    """The rejected rows in ``path``."""
    if path.exists():
        with path.open(encoding="utf-8") as file:
            yield from map(json.loads, file)
