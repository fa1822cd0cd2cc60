"""Dismissals: what no code can compute derives nothing, and everything else is counted once."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.layout.backfill_state import RECORDED_KEY, BackfillState
from daicho.layout.heartbeats import is_heartbeat
from daicho.layout.marks import RestoredMark, build_record_put, build_restoration_key, is_dismissed
from daicho.redrive import older_claims
from daicho.redrive.report import RedrivePosition, RedriveReport
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.requests import to_key_image
from daicho.stream.claims import MAX_FINISHED
from tests.support.consistency import differences
from tests.support.memory_archive import TTL
from tests.support.redrive_setup import (
    SHARD,
    House,
    build_song_with_artist,
    render_number,
)
from tests.support.sample_ledger import build_image

GOOD, NEWER = build_song_with_artist(1, "ab"), build_song_with_artist(1, "ac", "y", 5)
OTHER = build_song_with_artist(2, "cd", "y", 7)
BAD: Image = {**GOOD, "seconds": {"S": "three"}}
WORSE: Image = {**GOOD, "gen": {"N": "9"}}
DOWNLOAD = build_image("Download", {"song": "s", "id": "1", "at": "2026-11-21T01:05:40.123456Z"})
DOWNLOAD_KEY = get_key(DOWNLOAD)
KEPT = {"t#+Download.chart#1", "t#+Download.alive#1"}


class Town(House):
    """A house with a record of its releases. Its stream is delivered while a function waits."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.seen: dict[ItemKey, Image] = {}
        self.delivered = 0
        for item in (to_key_image(RECORDED_KEY), BackfillState("Song", 1, 2).to_item()):
            self.dynamo.commit(get_key(item), item)

    def write(self, *items: Image | None) -> None:
        """Write images of the first song one after the other; None deletes it."""
        for item in items:
            self.dynamo.commit(get_key(item or GOOD), item)
            self.record_changes()

    def expire(self, bad_images: int) -> ItemKey:
        """Write bad images of a download, which then expires; the key of the record of its row."""
        for seconds in range(bad_images):
            self.dynamo.commit(DOWNLOAD_KEY, {**DOWNLOAD, "at": {"N": str(seconds)}})
            self.record_changes()
        self.dynamo.commit(DOWNLOAD_KEY, None)
        self.record_changes()
        self.records[-1]["userIdentity"] = TTL
        return build_restoration_key("t", "Download", render_number(len(self.records) - 1))

    def record_changes(self) -> None:
        base = {key: item for key, item in self.dynamo.items if "type" in item}
        for key in {*self.seen, *base}:
            if self.seen.get(key) != base.get(key):
                self._record(self.seen.get(key), base.get(key))
        self.seen = base

    def deliver(self) -> None:
        self.record_changes()
        begin, self.delivered = self.delivered, len(self.records)
        if begin < self.delivered:
            self.project(begin)

    def dismiss(self, **more: Any) -> RedriveReport:
        self.deliver()
        report = self.redrive("dismiss", **more)
        while not report.finished and not report.wait:
            report = self.redrive("dismiss", cursor=report.cursor, **more)
        self.deliver()
        return report

    @property
    def first(self) -> Image | None:
        return self.dynamo.find(get_key(GOOD))

    def differences(self) -> list[str]:
        """What differs if dismissed items, and those that cannot be computed, are left out."""
        kept = {
            key: item
            for key, item in self.items.items()
            if not is_heartbeat(item) and "_dismissed" not in item
        }
        return differences(kept)


@pytest.mark.parametrize(
    "images",
    [
        (BAD,),
        (GOOD, BAD),
        (GOOD, WORSE),
        (BAD, GOOD),
        (GOOD, BAD, NEWER),
        (GOOD, BAD, None),
        (GOOD, BAD, WORSE, BAD),
        (GOOD, BAD, None, NEWER, WORSE),
        (BAD, NEWER, BAD, GOOD, WORSE),
    ],
)
def test_bad_images_derive_nothing_and_nothing_is_unknown(images: tuple[Image | None, ...]) -> None:
    town = Town()
    town.write(OTHER, *images)
    report = town.dismiss()
    assert (report.refused, report.claims, report.finished) == ("", {}, True)
    assert town.differences() == []
    assert set(town.states) == {"done"}
    assert town.recounted() == set()
    if images[-1] in (BAD, WORSE):
        assert town.first is not None
        assert is_dismissed(town.first)
    town.write(NEWER)  # any edit voids the mark
    town.deliver()
    town.project(0)  # a repeat of everything
    assert town.differences() == []
    assert town.redrive("list").claims == {}


def test_claims_are_found_that_the_index_does_not_show_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    town = Town()
    town.write(OTHER, GOOD, BAD)
    shown = iter([[SHARD]])  # the index lags after the first reading
    monkeypatch.setattr(older_claims, "list_quarantined", lambda *_: next(shown, []))
    assert town.dismiss().dismissed == 2  # the bad image, and the record of its mark
    assert set(town.states) == {"done"}
    assert town.recounted() == set()


def test_a_preview_changes_nothing() -> None:
    town = Town()
    town.write(GOOD, BAD)
    town.deliver()
    before = town.items
    report = town.redrive("preview")
    assert town.items == before
    assert report.dismissals == [
        {
            "item": [get_key(GOOD).pk, "-"],
            "claims": [f"{SHARD}/{render_number(1)}"],
            "becomes_empty": True,
            "recount": [],
        }
    ]


def test_a_claim_that_can_be_computed_is_refused() -> None:
    town = Town()
    town.write(OTHER, GOOD, BAD)
    town.deliver()
    claim = [SHARD, render_number(2)]
    for more, message in (
        ({"claims": [[SHARD, render_number(0)]]}, "not set aside, or done already"),
        ({"entity": "Sing"}, "no entity is called Sing"),
        ({"entity": "Download"}, "there is nothing to dismiss"),
    ):
        before = town.items
        assert message in town.redrive("dismiss", **more).refused
        assert town.items == before
    assert town.dismiss(claims=[claim]).refused == ""
    assert town.differences() == []


def test_what_a_fix_can_compute_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    town = Town()
    town.write(BAD, GOOD)
    town.deliver()
    monkeypatch.setattr("daicho.redrive.dismissal.is_bad", lambda *_: False)
    refused = town.redrive("dismiss", claims=[[SHARD, render_number(0)]]).refused
    assert refused == f"{SHARD}/{render_number(0)} can be computed: redrive it instead"


def test_a_bad_item_without_a_claim_is_dismissed_by_its_key() -> None:
    town = Town()
    town.write(OTHER)
    town.deliver()
    town.dynamo.commit(get_key(BAD), BAD)
    town.seen[get_key(BAD)] = BAD  # its record was handled in another way
    chosen: dict[str, Any] = {"item": [*get_key(BAD)]}
    preview = town.redrive("preview", **chosen)
    assert preview.dismissals == [
        {"item": chosen["item"], "claims": [], "becomes_empty": True, "recount": ["Song"]}
    ]
    report = town.dismiss(**chosen)
    assert (report.refused, report.finished, report.dismissed) == ("", True, 1)
    assert town.first is not None
    assert is_dismissed(town.first)
    assert town.differences() == []
    assert town.recounted() == {"t#+Song.count#1", "t#+Song.length#2"}
    assert "there is nothing to dismiss" in town.redrive("dismiss", item=[*get_key(OTHER)]).refused
    assert "there is nothing to dismiss" in town.redrive("dismiss", item=["t#Song#9", "-"]).refused


@pytest.mark.parametrize(
    ("bad_images", "was_restored", "recounted"),
    [(2, False, set()), (2, True, KEPT), (MAX_FINISHED, False, KEPT)],
    ids=["one transaction", "restored before", "in pieces"],
)
def test_the_row_of_an_expired_bad_item_is_recorded(
    bad_images: int, was_restored: bool, recounted: set[str]
) -> None:
    """So a restore of the row takes nothing back, although nothing was kept (rule 42)."""
    town = Town()
    key = town.expire(bad_images)
    if was_restored:
        mark = RestoredMark(key.pk, "2026-11-21T02:00:00.000000Z", 1, 1)
        town.dynamo.commit(key, build_record_put(key, mark, 1, None).item)
    before = town.dynamo.find(key)
    report = town.dismiss()
    assert (report.finished, report.dismissed) == (True, bad_images + 1)
    assert set(town.states) == {"done"}
    assert town.recounted() == recounted
    assert town.dynamo.find(key) == before if was_restored else town.dynamo.find(key) is not None


def test_the_first_step_of_a_job_may_be_repeated() -> None:
    town = Town()
    town.write(GOOD, BAD)
    town.deliver()
    chosen: dict[str, Any] = {"claims": [[SHARD, render_number(1)]]}
    for dismissed in (2, 0):
        report = town.redrive("dismiss", cursor=RedrivePosition("dismiss").cursor, **chosen)
        assert (report.finished, report.refused, report.dismissed) == (True, "", dismissed)
    assert town.differences() == []
