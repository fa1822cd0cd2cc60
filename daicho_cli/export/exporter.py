"""One export: rounds of a parallel scan, with the state saved after each round."""

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
from daicho.storage.protocols import ScansItems
from daicho_cli.export.checkpoint import State
from daicho_cli.export.item_lines import LineMaker

RETRY_S = 120.0
"""The longest time without any answer of the table, in seconds."""
ExportedPage = tuple[int, bytes]
Progress = Callable[[State, ScanRound[ExportedPage]], None]


@dataclass
class Exporter:
    """Writes lines to one file.

    It writes the lines first, and then the state. After an interruption, the next run truncates the
    output to the end that the state records, and writes the lines after it again.
    """

    output: Path
    state: State
    lines: LineMaker
    store: ScansItems
    most: int = 8
    pace: RateLimiter = field(default_factory=lambda: RateLimiter(None))
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def run(self, progress: Progress = lambda _state, _round: None) -> State:
        """Export the remaining items.

        Raises:
            UnavailableError: the table has not answered for two minutes; the next run continues.
            RefusedError: DynamoDB refuses the request permanently.
        """
        state, answered = self.state, self.clock()
        scan = ParallelScan(self.store, self.lines.chosen.scan, self.lines, self.most, self.pace)
        self.output.parent.mkdir(parents=True, exist_ok=True)
        state.save(self.output)
        with self.output.open("ab") as file:
            file.truncate(state.end)

            def done(scan_round: ScanRound[ExportedPage]) -> None:
                nonlocal answered
                if scan_round.made:
                    answered = self.clock()
                for items, text in scan_round.made:
                    state.items += items
                    file.write(text)
                state.scanned += scan_round.scanned
                state.units += scan_round.units
                file.flush()
                os.fsync(file.fileno())
                state.end = file.tell()
                state.save(self.output)
                progress(state, scan_round)

            def remaining() -> float:
                return answered + RETRY_S - self.clock()

            patience = RetryBudget(remaining, reserve=0, sleep=self.sleep)
            if not scan.run(state.segments, patience, done):
                raise UnavailableError(f"no answer for {RETRY_S:.0f} s")
        state.finished = True
        state.save(self.output)
        return state
