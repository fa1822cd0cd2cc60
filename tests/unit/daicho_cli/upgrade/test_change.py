"""Changes: their order, and their form between two versions."""

from __future__ import annotations

import json

from daicho_cli.severity import Severity
from daicho_cli.upgrade.change import Area, Change, find_worst, sort_changes


def build(area: Area, severity: Severity) -> Change:
    return Change(area, severity, "rule", "subject", "sentence")


def test_the_worst_of_an_area_is_first() -> None:
    added = build(Area.API, Severity.COMPATIBLE)
    removed = build(Area.API, Severity.BREAKING)
    lost = build(Area.RESOURCES, Severity.DATA_LOSS)
    assert sort_changes([added, removed, lost]) == [lost, removed, added]
    assert find_worst([added, removed]) is Severity.BREAKING
    assert find_worst([added, lost, removed]) is Severity.DATA_LOSS
    assert find_worst([]) is None


def test_a_change_survives_json() -> None:
    change = build(Area.GENERATIONS, Severity.DATA_LOSS)
    assert Change.from_json(json.loads(json.dumps(change.to_json()))) == change
