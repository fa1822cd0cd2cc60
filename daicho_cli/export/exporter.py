"""One export: rounds of a parallel scan, with a checkpoint after each round."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from daicho.errors import UnavailableError
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import RetryBudget
from daicho.storage.parallel_scan import ParallelScan, ScanRound
from daicho.storage.table import Table
from daicho_cli.checkpoint import CheckpointFile
from daicho_cli.export.checkpoint import ExportProgress
from daicho_cli.export.item_lines import LineMaker

RETRY_S = 120.0
"""The longest time without any answer of the table, in seconds."""
ExportedPage = tuple[int, bytes]
OnProgress = Callable[[ExportProgress, ScanRound[ExportedPage]], None]


@dataclass
class Exporter:
    """Writes lines to one file.

    It writes the lines first, and then the checkpoint. After an interruption, the next run
    truncates the output to the end that the checkpoint records, and writes the lines after it
    again.
    """

    output: Path
    checkpoint: CheckpointFile[ExportProgress]
    lines: LineMaker
    store: Table
    parallelism: int = 8
    pace: RateLimiter = field(default_factory=lambda: RateLimiter(None))
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def run(self, on_progress: OnProgress = lambda _progress, _round: None) -> ExportProgress:
        """Export the remaining items.

        Raises:
            UnavailableError: the table has not answered for two minutes; the next run continues.
            RefusedError: DynamoDB refuses the request permanently.
        """
        progress, last_answer = self.checkpoint.progress, self.clock()
        scan = ParallelScan(
            self.store, self.lines.selection.scan, self.lines, self.parallelism, self.pace
        )
        self.output.parent.mkdir(parents=True, exist_ok=True)
        self.checkpoint.save(progress)
        with self.output.open("ab") as file:
            file.truncate(progress.end)
            # The position stays behind the new end, and a round without lines would save it.
            file.seek(0, os.SEEK_END)

            def save_round(scan_round: ScanRound[ExportedPage]) -> None:
                nonlocal last_answer
                if scan_round.results:
                    last_answer = self.clock()
                for items, text in scan_round.results:
                    progress.items += items
                    file.write(text)
                progress.scanned += scan_round.scanned
                progress.units += scan_round.units
                file.flush()
                os.fsync(file.fileno())
                progress.end = file.tell()
                self.checkpoint.save(progress)
                on_progress(progress, scan_round)

            def measure_remaining() -> float:
                return last_answer + RETRY_S - self.clock()

            retry_budget = RetryBudget(measure_remaining, reserve=0, sleep=self.sleep)
            if not scan.run(progress.segments, retry_budget, save_round):
                raise UnavailableError(f"no answer for {RETRY_S:.0f} s")
        progress.finished = True
        self.checkpoint.save(progress)
        return progress
