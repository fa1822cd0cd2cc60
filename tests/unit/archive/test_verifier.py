"""Verifying the archive: each way in which it may be wrong is found, and named."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from typing import Any

import pytest

from daicho.archive.chain import Chain
from daicho.archive.forgetter import Forgetter
from daicho.archive.object_format import pack_rows
from daicho.archive.reader import DayRange
from daicho.archive.verifier import Verifier
from tests.support.memory_archive import (
    DAY,
    HOME,
    MIDNIGHT,
    TODAY,
    Kept,
    render_link_name,
    render_seq,
    render_side_name,
)


@pytest.fixture
def kept() -> Kept:
    """Three links of one chain, and a side object."""
    made = Kept()
    made.append(1, 2)
    made.append(4, 5)
    made.append(6)
    made.rejoin(3)
    return made


def test_a_sound_archive_is_counted(kept: Kept) -> None:
    kept.append(7, at=MIDNIGHT + DAY)
    kept.append(8, gen={"N": "9"})
    report = kept.verify(2)
    assert report.is_sound
    counts = report.counts
    assert (counts.chains, counts.objects, counts.rows, counts.sides, counts.raw) == (2, 6, 8, 1, 1)
    # The side object's deletion was behind what had been seen: nobody can say whether it was.
    assert counts.deletions == 7
    assert report.to_json()["sound"] is True


def test_repeats_are_counted_once(kept: Kept) -> None:
    for again in ((1, 2), (2, 4, 5), (6,), (4, 5, 6)):
        kept.append(*again)
    assert kept.verify().counts.deletions == 5
    assert kept.verify().is_sound


@pytest.mark.parametrize(
    ("removed", "kind"), [(0, "gap"), (2, "gap"), (5, "removed")], ids=["first", "middle", "last"]
)
def test_a_removed_link_is_found(kept: Kept, removed: int, kind: str) -> None:
    kept.bucket.remove(render_link_name(removed))
    report = kept.verify()
    assert kind in {each.kind for each in report.findings}
    assert all(each.name.startswith(HOME) for each in report.findings)


def test_a_chain_of_which_everything_is_removed_is_found(kept: Kept) -> None:
    for name in list(kept.bucket.objects):
        kept.bucket.remove(name)
    assert "removed" in kept.kinds()


def test_a_removed_side_object_is_found(kept: Kept) -> None:
    kept.bucket.remove(render_side_name(3))
    (finding,) = kept.verify().findings
    assert (finding.kind, finding.name) == ("removed", render_side_name(3))


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        (render_link_name(1), {"doubled", "overlap"}),
        (render_link_name(9), {"doubled", "gap", "misplaced"}),
        (render_side_name(2), {"doubled"}),
        (f"{HOME}copy.json.gz", {"foreign"}),
        (f"{render_link_name(2)}.bak", {"foreign"}),
        (f"{HOME.removesuffix('s_')}写し.json.gz", {"foreign"}),
        (f"{HOME.removesuffix('s_')}~/x", {"foreign"}),
        (render_link_name(0).replace("11-21", "11-22"), {"misplaced"}),
        (render_link_name(0).replace("/s_", "/other_"), {"doubled"}),
    ],
)
def test_a_duplicated_object_is_found(kept: Kept, name: str, kinds: set[str]) -> None:
    body, metadata = kept.bucket.objects[render_link_name(2)]
    assert kept.bucket.create(name, body, metadata)
    assert kinds <= set(kept.kinds())


def test_a_truncated_object_is_found_and_the_rest_goes_on(kept: Kept) -> None:
    body, _ = kept.bucket.objects[render_link_name(2)]
    kept.bucket.overwrite(render_link_name(2), body[: len(body) // 2])
    (finding,) = kept.verify().findings
    assert (finding.kind, finding.name) == ("corrupt", render_link_name(2))
    assert kept.verify().counts.rows == 4


def edited(body: bytes) -> bytes:
    lines = gzip.decompress(body).splitlines(keepends=True)
    row = json.loads(lines[0])
    row["item"]["song"]["S"] = "another"
    return gzip.compress(b"".join([json.dumps(row).encode() + b"\n", *lines[1:]]))


@pytest.mark.parametrize("metadata", [None, {}])
def test_a_row_edited_by_hand_is_found(kept: Kept, metadata: dict[str, str] | None) -> None:
    body, _ = kept.bucket.objects[render_link_name(2)]
    kept.bucket.overwrite(render_link_name(2), edited(body), metadata)
    (finding,) = kept.verify().findings
    assert (finding.kind, finding.name) == ("corrupt", render_link_name(2))


def test_a_row_taken_out_is_found_even_if_the_metadata_agrees(kept: Kept) -> None:
    first, _ = kept.archive.read(render_link_name(2)).rows
    packed = pack_rows([first], render_seq(5))
    kept.bucket.overwrite(render_link_name(2), packed.body, packed.metadata)
    (finding,) = kept.verify().findings
    assert (finding.kind, finding.name) == ("removed", HOME)


def test_a_deletion_that_was_handed_over_and_never_written_is_found(kept: Kept) -> None:
    key = Chain("s", "Download", TODAY).watermark_key
    seen = {**kept.table.items[key], "seen": {"N": "9"}, "seen_at": {"N": str(MIDNIGHT)}}
    kept.table.items[key] = seen
    (finding,) = kept.verify().findings
    assert (finding.kind, finding.name) == ("lost", HOME)
    # Just now it may be under way.
    at = str(int(kept.now.timestamp()) - 60)
    kept.table.items[key] = {**seen, "seen_at": {"N": at}}
    report = kept.verify()
    assert (report.is_sound, report.counts.under_way) == (True, 3)


def test_more_rows_than_deletions_are_found(kept: Kept) -> None:
    key = Chain("s", "Download", TODAY).watermark_key
    kept.table.items[key] = {**kept.table.items[key], "seen": {"N": "3"}}
    assert kept.kinds() == ["unseen"]


def test_what_was_forgotten_is_no_finding(kept: Kept) -> None:
    kept.append(7, tenant="other")
    kept.grow_old()
    Forgetter(kept.table, kept.bucket, now=lambda: kept.now).forget("t")
    report = kept.verify()
    assert report.is_sound
    assert (report.counts.rows, report.counts.forgotten) == (1, 6)


def test_a_chain_may_be_ahead_of_what_the_table_knows(kept: Kept) -> None:
    key = Chain("s", "Download", TODAY).watermark_key
    before: dict[str, Any] = dict(kept.table.items[key])
    kept.append(7)
    seen = {name: kept.table.items[key][name] for name in ("seen", "seen_seq")}
    kept.table.items[key] = {**before, **seen}  # stopped behind the link
    assert kept.verify().is_sound


def test_each_of_the_days_is_verified_and_no_other(kept: Kept) -> None:
    kept.bucket.remove(render_link_name(2))
    verifier = Verifier(kept.table, kept.archive, now=lambda: kept.now)
    after = TODAY + dt.timedelta(days=2)
    assert verifier.verify(DayRange(TODAY, after), ["Download"]).mismatches > 0
    assert verifier.verify(DayRange(TODAY + dt.timedelta(days=1), after), ["Download"]).is_sound
