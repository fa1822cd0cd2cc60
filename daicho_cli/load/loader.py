"""One load: blocks of rows, with the state saved after each block."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from daicho.storage.attributes import Image
from daicho_cli.load.batch_writer import BatchWriter
from daicho_cli.load.checkpoint import State
from daicho_cli.load.row_preparer import RejectedError, RowPreparer
from daicho_cli.load.row_reader import NumberedRow, read_rows

BLOCK_ROWS = 2_500
Progress = Callable[[int, int], None]


@dataclass
class Loader:
    """Loads a file. After an interruption it writes the last block again, with equal items."""

    source: Path
    state_file: Path
    state: State
    preparer: RowPreparer
    batches: BatchWriter
    block_rows: int = BLOCK_ROWS

    @property
    def rejects(self) -> Path:
        """The file for the rows that cannot be loaded."""
        return self.source.with_name(f"{self.source.name}.rejected.ndjson")

    def run(self, progress: Progress = lambda _loaded, _end: None) -> State:
        """Load the remaining rows; ``progress`` receives the number of rows and the file position.

        Raises:
            TenantClosed: the tenant was deleted, before or during the load.
        """
        state = self.state
        self.preparer.check_open()
        state.save(
            self.state_file
        )  # after an interruption in the first block, the seed of the ids must exist
        self._forget_later_rejects()
        rows = read_rows(self.source, state.end, state.line)
        while block := list(islice(rows, self.block_rows)):
            images, rejected = self._prepare_rows(block)
            self.preparer.check_open()
            loaded, begin = state.loaded, state.end
            for written in self.batches.write(images):
                loaded += written
                progress(loaded, begin)
            self._put_aside(rejected)
            state.loaded += len(images)
            state.end, state.line = block[-1].end, block[-1].end_line
            state.save(self.state_file)
            progress(state.loaded, state.end)
        state.finished = True
        state.save(self.state_file)
        return state

    def _prepare_rows(
        self, block: list[NumberedRow]
    ) -> tuple[list[Image], list[dict[str, object]]]:
        images: list[Image] = []
        rejected: list[dict[str, object]] = []
        for row in block:
            try:
                images.append(self.preparer.build_image(row))
            except RejectedError as error:
                problem = {"field": error.field, "detail": error.detail}
                content = row.raw if row.values is None else row.values
                rejected.append({"line": row.line, "error": problem, "row": content})
        return images, rejected

    def _put_aside(self, rejected: list[dict[str, object]]) -> None:
        if not rejected:
            return
        with self.rejects.open("ab") as file:
            for entry in rejected:
                file.write(json.dumps(entry, ensure_ascii=True).encode() + b"\n")
            self.state.rejected_bytes = file.tell()
        self.state.rejected += len(rejected)

    def _forget_later_rejects(self) -> None:
        """Remove the rejected rows of the interrupted block; the next run adds them again."""
        if self.state.rejected_bytes and self.rejects.exists():
            with self.rejects.open("r+b") as file:
                file.truncate(self.state.rejected_bytes)
        elif not self.state.rejected:
            self.rejects.unlink(missing_ok=True)


def read_rejected(path: Path) -> Iterator[dict[str, Any]]:
    """The rejected rows in ``path``."""
    if path.exists():
        with path.open(encoding="utf-8") as file:
            yield from map(json.loads, file)
