"""The commands of the archive that remove, restore and verify: dry at first, resumable, and exact.

Each way to harm an archive is tested with the verifier: tests/unit/archive/test_verifier.py.
"""

from __future__ import annotations

import datetime as dt
import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from daicho.layout.tenant_items import build_closed_mark_key
from daicho.storage import attributes
from daicho.storage.requests import to_key_image
from tests.support.archive_commands import Commanded, commanded
from tests.support.failed_records import build_raw_deletion, render_body
from tests.support.memory_archive import WEEK_LATER, Kept, build_download, render_link_name


def close(made: Commanded, tenant: str) -> None:
    """Close a tenant, so that its rows may be removed."""
    made.kept.table.put(to_key_image(build_closed_mark_key(tenant)))


def test_a_tenant_goes_and_the_rest_stays(made: Commanded) -> None:
    close(made, "t")
    made.kept.grow_old()
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


def test_no_row_of_a_tenant_that_is_not_closed_is_removed(made: Commanded) -> None:
    made.kept.grow_old()
    result = made.run("forget", "--tenant", "u", "--apply")
    assert (result.exit_code, "u is not closed" in result.stderr) == (2, True)
    assert 3 in made.kept.numbers()
    assert made.run("forget", "--tenant", "u").exit_code == 1, "it can be counted"


def test_younger_objects_go_when_their_time_has_come(made: Commanded) -> None:
    close(made, "t")
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
    close(made, "v")
    for more in ((), ("--apply",)):
        result = made.run("forget", "--tenant", "v", *more)
        assert result.exit_code == 1
        assert f"waits for daicho redrive: {name}" in result.stdout
    assert name in made.failures.objects


def test_a_removal_that_was_cut_off_goes_on_and_keeps_what_is_young(
    made: Commanded,
) -> None:
    close(made, "t")
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


def back(made: Commanded) -> list[str]:
    """The items that are in the table, by their ids."""
    items = made.kept.table.items.values()
    return sorted(item["id"]["S"] for item in items if "type" in item)


def test_a_restore_is_dry_unless_told(made: Commanded) -> None:
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


def test_a_restore_that_was_cut_off_goes_on(made: Commanded) -> None:
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


PERIOD = ("--since", "2026-11-21", "--until", "2026-11-22")


@pytest.fixture
def verified(monkeypatch: pytest.MonkeyPatch) -> Iterator[Commanded]:
    """Three objects of one day, of which two tenants have rows."""
    with commanded(monkeypatch) as made:
        made.kept.append(1, 2)
        made.kept.append(3, 4)
        made.kept.append(5, tenant="u")
        yield made


def removed(kept: Kept) -> None:
    kept.bucket.remove(render_link_name(2))


def edited(kept: Kept) -> None:
    body, _ = kept.bucket.objects[render_link_name(2)]
    lines = gzip.decompress(body).replace(b'"song":{"S":"1"}', b'"song":{"S":"2"}')
    kept.bucket.overwrite(render_link_name(2), gzip.compress(lines))


@pytest.mark.parametrize(("harm", "kind"), [(removed, "gap"), (edited, "corrupt")])
def test_each_harm_is_found(verified: Commanded, harm: Callable[[Kept], None], kind: str) -> None:
    harm(verified.kept)
    result = verified.run("verify", *PERIOD)
    assert result.exit_code == 1
    assert "Findings" in result.stdout
    assert kind in result.stdout
    assert result.stdout.splitlines()[-1].split()[-1] in {"finding", "findings"}
    told = json.loads(verified.run("verify", "--json", *PERIOD).stdout)
    assert kind in told["kinds"]
    assert (told["since"], told["until"], told["sound"]) == ("2026-11-21", "2026-11-22", False)
    assert all(each["name"].startswith("entity=Download/") for each in told["findings"])
    # Another period is sound, and so it says.
    assert verified.run("verify", "--since", "2026-11-22", "--until", "2026-11-23").exit_code == 0


def test_an_entity_that_is_declared_no_more_is_verified_too(verified: Commanded) -> None:
    body, metadata = verified.kept.bucket.objects[render_link_name(2)]
    assert verified.kept.bucket.create(
        render_link_name(0).replace("entity=Download", "entity=Gone"), body, metadata
    )
    result = verified.run("verify", *PERIOD)
    assert result.exit_code == 1
    assert "entity=Gone" in result.stdout
    assert verified.run("verify", "--entity", "Download", *PERIOD).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--since", "yesterday"), "is no day"),
        (("--since", "2026-11-22", "--until", "2026-11-21"), "is after --until"),
        (("--since", "1970-01-01"), "verify them in parts"),
        (("--since", "1900-01-01"), "from 1970 to 9998"),
        (("--since", "9999-12-31"), "from 1970 to 9998"),
        (("--until", "0001-01-01"), "from 1970 to 9998"),
        (("--entity", "Song"), "is not archived"),
    ],
)
def test_options_of_a_verification_that_mean_nothing_are_refused(
    verified: Commanded, arguments: tuple[str, ...], word: str
) -> None:
    result = verified.run("verify", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert word in result.stderr
