"""Everything derived is exact, whatever Lambda does: random schedules against a recomputation."""

from __future__ import annotations

import logging
import os

import pytest

from tests.delivery.schedule import Delivery

SCHEDULES = int(os.environ.get("SCHEDULES", "400"))
FIRST_SEED = int(os.environ.get("FIRST_SEED", "1"))
CHUNKS = 4


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_schedules(chunk: int) -> None:
    logging.disable()  # every fault is logged, and faults are what this is made of
    try:
        for seed in range(FIRST_SEED + chunk, FIRST_SEED + SCHEDULES, CHUNKS):
            delivery = Delivery(seed)
            differences = delivery.run()
            assert not differences, "\n".join([f"seed {seed}", *delivery.log, *differences])
    finally:
        logging.disable(logging.NOTSET)
