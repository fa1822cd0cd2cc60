"""The schedules find what is broken: a delivery test that passes on broken code proves nothing.

A few faults that are found quickly; ``python -m tests.delivery.planted`` tries all of them.
"""

from __future__ import annotations

import ast

import pytest

from tests.delivery.planted import Fault, faults, planted, schedules_to_find

QUICK = frozenset(
    {
        "<= in the aggregate",
        "last instead of first in the condition",
        "skip by new images only",
        "refused taken as done",
        "unpadded",
    }
)


@pytest.mark.parametrize("fault", faults(), ids=lambda fault: fault.name)
def test_every_fault_can_still_be_planted(fault: Fault) -> None:
    ast.parse(planted(fault))


@pytest.mark.parametrize(
    "fault", [each for each in faults() if each.name in QUICK], ids=lambda fault: fault.name
)
def test_a_planted_fault_is_found(fault: Fault) -> None:
    assert schedules_to_find(fault, most=200) is not None
