"""Schedules without output."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout


@contextmanager
def silence_logs() -> Iterator[io.StringIO]:
    """Drop logs: every fault is logged, and a schedule consists of faults. Yields the metrics."""
    disabled = logging.root.manager.disable
    logging.disable()
    try:
        with redirect_stdout(io.StringIO()) as metrics:
            yield metrics
    finally:
        logging.disable(disabled)
