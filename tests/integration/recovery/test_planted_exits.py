"""The planted faults of restored tables can still be planted; the command finds them all."""

from __future__ import annotations

import ast

import pytest

from tests.integration.recovery.planted_exits import read_planted
from tests.support.planting import Fault


@pytest.mark.parametrize("fault", read_planted(), ids=lambda fault: fault.name)
def test_every_fault_can_still_be_planted(fault: Fault) -> None:
    assert fault.right != fault.wrong
    ast.parse(fault.plant())
