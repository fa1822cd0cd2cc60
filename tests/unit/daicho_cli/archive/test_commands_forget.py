"""``daicho archive forget``: dry at first, in two steps if objects are young, and resumable."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest

from tests.support.archive_commands import Commanded
from tests.support.failed_records import build_raw_deletion, render_body
from tests.support.memory_archive import WEEK_LATER


@pytest.fixture
def old(made: Commanded) -> None:
    """Every object is as old as it must be."""
    made.kept.grow_old()


@pytest.mark.usefixtures("old")
def test_a_tenant_goes_and_the_rest_stays(made: Commanded) -> None:
    assert made.failures.create(
        "done/x", render_body({"shard": "s", "record": build_raw_deletion(7, "t")}), {}
    )
    result = made.run("forget", "--tenant", "t", "--apply")
    assert result.exit_code == 0
    assert "t: 3 rows of 2 objects removed, and 2 older versions" in result.stdout
    assert "of the failure bucket 1 records of 1 objects" in result.stdout
    assert result.stdout.endswith("nothing of t is left\n")
    assert made.kept.numbers() == [3]
    assert made.failures.objects == {}
    assert made.run("verify", "--since", "2026-11-21", "--until", "2026-11-21").exit_code == 0
    assert made.run("forget", "--tenant", "t").exit_code == 0
    assert list(Path.cwd().iterdir()) == []


def test_younger_objects_go_when_their_time_has_come(made: Commanded) -> None:
    result = made.run("forget", "--tenant", "t", "--apply", "--json")
    told = json.loads(result.stdout)
    assert result.exit_code == 1
    assert (told["younger"], told["younger_rows"], told["complete"]) == (2, 3, False)
    assert dt.datetime.fromisoformat(told["again_at"]) == WEEK_LATER + dt.timedelta(hours=72)
    due = made.run("forget", "--due", "--apply")
    assert (due.exit_code, due.stdout) == (0, f"t: not before {told['again_at']}\n")
    made.kept.grow_old()
    assert made.run("forget", "--due").exit_code == 1
    due = made.run("forget", "--due", "--apply")
    assert due.exit_code == 0
    assert due.stdout.endswith("nothing of t is left\n")
    assert made.kept.numbers() == [3]
    assert made.run("forget", "--due").stdout == "no tenant is waiting\n"


def test_what_waits_for_a_redrive_is_named(made: Commanded) -> None:
    name = "aws/lambda/m/s/2026/11/21/x"
    payload = json.dumps({"Records": [build_raw_deletion(7, "v"), build_raw_deletion(8, "u")]})
    assert made.failures.create(
        name, render_body({"payload": payload, "DDBStreamBatchInfo": {"shardId": "s"}}), {}
    )
    for more in ((), ("--apply",)):
        result = made.run("forget", "--tenant", "v", *more)
        assert result.exit_code == 1
        assert f"waits for daicho redrive: {name}" in result.stdout
    assert name in made.failures.objects


def test_one_that_was_cut_off_goes_on_and_forgets_nothing_that_is_young(made: Commanded) -> None:
    with made.broken_off(2):
        assert made.run("forget", "--tenant", "t", "--apply").exit_code == 130
    assert len(list(Path.cwd().iterdir())) == 1
    result = made.run("forget", "--tenant", "t", "--apply", "--json")
    assert "continues after entity=Download/" in result.stderr
    told = json.loads(result.stdout)
    assert (told["younger"], told["younger_rows"]) == (2, 3)
    # The younger ones of before the cut are not lost sight of.
    assert "t: not before" in made.run("forget", "--due").stdout
    assert list(Path.cwd().iterdir()) == []
