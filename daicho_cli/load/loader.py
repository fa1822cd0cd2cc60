"""One load: block after block of rows, its state kept after each."""

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
    """Loads a file. After a cut, what the last block had written is written again, alike."""

    source: Path
    state_file: Path
    state: State
    preparer: RowPreparer
    batches: BatchWriter
    block_rows: int = BLOCK_ROWS

    @property
    def rejects(self) -> Path:
        """Where rows that cannot be loaded are put aside."""
        return self.source.with_name(f"{self.source.name}.rejected.ndjson")

    def run(self, progress: Progress = lambda _loaded, _end: None) -> State:
        """Load what is left; ``progress`` hears how many were loaded, and where in the file.

        Raises:
            TenantClosed: the tenant was deleted, before or meanwhile: a block was its last.
        """
        state = self.state
        self.preparer.check_open()
        state.save(self.state_file)  # a cut in the first block must find the ids' seed
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
            for each in rejected:
                file.write(json.dumps(each, ensure_ascii=True).encode() + b"\n")
            self.state.rejected_bytes = file.tell()
        self.state.rejected += len(rejected)

    def _forget_later_rejects(self) -> None:
        """Rows put aside by the block that was cut off will be again."""
        if self.state.rejected_bytes and self.rejects.exists():
            with self.rejects.open("r+b") as file:
                file.truncate(self.state.rejected_bytes)
        elif not self.state.rejected:
            self.rejects.unlink(missing_ok=True)


def read_rejected(path: Path) -> Iterator[dict[str, Any]]:
    """What was put aside in ``path``."""
    if path.exists():
        with path.open(encoding="utf-8") as file:
            yield from map(json.loads, file)
