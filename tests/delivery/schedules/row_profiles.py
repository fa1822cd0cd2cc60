"""The profile of rows: searches and listings of every kind, with values that keys escape."""

from __future__ import annotations

from tests.delivery.row_entities import ENTITIES
from tests.simulator.schedules.proof_profile import ProofProfile

ROW_PROFILES = (
    ProofProfile(
        "rows",
        12,
        ENTITIES,
        (("Firm",), ("Case",), ("Firm", "Case")),
        actions=("put", "put", "put", "delete", "expire"),
        writes=(3, 5, 8),
        lengths=(40, 100),
        events={"repeat": (0, 12), "rollup": (0,), "deploy": (0,), "split": (0, 2)},
    ),
)
