"""The planted faults of the search kernel can still be planted; the commands find them all."""

from __future__ import annotations

import ast

import pytest

from tests.property.planted_search import Fault, faults


@pytest.mark.parametrize("fault", faults(), ids=lambda fault: fault.name)
def test_every_fault_can_still_be_planted(fault: Fault) -> None:
    assert fault.right != fault.wrong
    ast.parse(fault.planted())
