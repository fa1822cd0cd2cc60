"""Schedules without output."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout


@contextmanager
def silence_logs() -> Iterator[None]:
    """Drop logs and printed metrics: every fault is logged, and a schedule consists of faults."""
    disabled = logging.root.manager.disable
    logging.disable()
    try:
        with redirect_stdout(io.StringIO()):
            yield
    finally:
        logging.disable(disabled)
