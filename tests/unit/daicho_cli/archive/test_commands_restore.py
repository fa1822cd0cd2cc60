"""``daicho archive restore``: dry at first, resumable, and safe to run twice."""

from __future__ import annotations

import json
from pathlib import Path

from daicho.storage import attributes
from tests.support.archive_commands import Commanded
from tests.support.memory_archive import build_download, render_link_name


def back(made: Commanded) -> list[str]:
    """The items that are in the table, by their ids."""
    items = made.kept.table.items.values()
    return sorted(item["id"]["S"] for item in items if "type" in item)


def test_it_is_dry_unless_told(made: Commanded) -> None:
    result = made.run("restore", "--tenant", "t")
    assert result.exit_code == 0
    assert result.stdout == (
        "3 rows of 3 items; 3 would be restored\nNothing was written: --apply does it.\n"
    )
    assert back(made) == []
    assert list(Path.cwd().iterdir()) == []


def test_a_live_item_is_not_overwritten_unless_told(made: Commanded) -> None:
    live = {
        **build_download(2),
        "song": {"S": "1"},
        "at": {"S": "now"},
        "ttl": {"N": "32503680000"},
    }
    made.kept.table.items[attributes.get_key(live)] = live
    result = made.run("restore", "--apply", "--tenant", "t")
    assert result.exit_code == 1
    assert "1 left alone: there is a live item (--over-newer)" in result.stdout
    assert made.kept.table.items[attributes.get_key(live)] == live
    told = made.run("restore", "--apply", "--tenant", "t", "--over-newer")
    assert told.exit_code == 0
    assert "1 of them replaced a live item" in told.stdout
    assert made.kept.table.items[attributes.get_key(live)]["at"] == build_download(2)["at"]


def test_an_object_that_is_corrupt_is_named_and_the_rest_comes_back(made: Commanded) -> None:
    made.kept.bucket.overwrite(render_link_name(0), b"cut")
    result = made.run("restore", "--apply", "--since", "2026-11-21")
    assert result.exit_code == 1
    assert f"skipped: {render_link_name(0)}: it cannot be unpacked" in result.stdout
    assert back(made) == ["3", "4"]


def test_a_row_of_which_no_item_can_be_made_is_named(made: Commanded) -> None:
    made.kept.append(9, gen={"N": "77"})
    result = made.run("restore", "--apply", "--tenant", "t")
    assert result.exit_code == 1
    assert "Cannot be restored" in result.stdout
    assert "1 that do not fit today's declarations" in result.stdout


def test_one_that_was_cut_off_goes_on(made: Commanded) -> None:
    """The connection is gone behind the first object: read for the plan, then for the writes."""
    asked = ("restore", "--apply", "--since", "2026-11-21")
    with made.broken_off(4):
        cut = made.run(*asked)
        assert (cut.exit_code, cut.stderr) == (130, "archive restore was interrupted\n")
    (state,) = Path.cwd().iterdir()
    assert json.loads(state.read_text())["cursor"] == render_link_name(0)
    assert back(made) == ["1", "2"]
    # Another call is another call; and so is one elsewhere.
    assert made.run("restore", "--apply", "--tenant", "nobody").exit_code == 0
    result = made.run(*asked, "--json")
    told = json.loads(result.stdout)
    assert f"continues after {render_link_name(0)}" in result.stderr
    assert (told["restored"], told["already"], told["complete"]) == (4, 0, True)
    assert back(made) == ["1", "2", "3", "4"]
    assert list(Path.cwd().iterdir()) == []
