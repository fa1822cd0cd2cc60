"""Chinook through the command, the stream's real handlers and the API's: every question."""

from __future__ import annotations

import datetime as dt
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from daicho.book.book import Book
from daicho.handlers import api, project, rollup
from daicho.plan import Ledger
from daicho.search.normalise import fold, has_words, split_words
from daicho.storage.table import Table
from daicho_cli.load.command import load
from domains.downloads import Download
from tests.demonstration.support.chinook import Chinook
from tests.support.api_client import Client, at
from tests.support.dynoxide import choose_lookups, client, create_table, has_dynoxide, serving
from tests.support.stream_pump import Consumer, Context, Pump, environment
from tests.support.trials import IS_TRIAL, scaled

pytestmark = pytest.mark.skipif(not IS_TRIAL, reason="takes minutes: make trials")
TENANT, OTHER = "acme", "globex"
DOWNLOADS = scaled(20_000, otherwise=5_000) if has_dynoxide() else 1_000
DELETED = MOVED = DOWNLOADS // 20
EXPONENT = 1.2  # of Zipf's law
MONTHS = [dt.datetime(2026, month, 1, tzinfo=dt.UTC) for month in range(1, 13)]
Row = dict[str, Any]


@dataclass
class Library:
    """The deployed functions over one table."""

    table: Table
    ledger: Ledger
    pump: Pump
    rollup: Any
    acme: Client
    endpoint: str
    folder: Path

    def load(self, entity: str, rows: list[Row], tenant: str = TENANT) -> None:
        file = self.folder / f"{tenant}-{entity}-{rows[0].get('id')}.ndjson"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        load(entity, file, tenant, table=self.table.name, endpoint=self.endpoint)

    def catch_up(self) -> None:
        self.pump.run()
        while self.rollup({}, Context())["rolled"]:
            pass


@pytest.fixture(scope="module")
def chinook() -> Chinook:
    return Chinook.read()


@pytest.fixture(scope="module")
def library(chinook: Chinook, tmp_path_factory: Any) -> Iterator[Library]:
    with serving() as dynamo, pytest.MonkeyPatch.context() as patch:
        dynamodb = client(dynamo)
        name = create_table(dynamodb)
        patch.setenv("AWS_ENDPOINT_URL", dynamo)
        patch.setenv("POWERTOOLS_TRACE_DISABLED", "true")
        patch.setenv("POWERTOOLS_METRICS_NAMESPACE", "Daicho")
        patch.setenv("POWERTOOLS_LOG_LEVEL", "ERROR")
        settings, ledger = environment(name), Ledger.load()
        projector = Consumer(project.build(settings), ledger.derived_types)
        found = Library(
            Table(dynamodb, name),
            ledger,
            Pump(dynamodb, dynamo, name, [projector]),
            rollup.build(settings),
            Client(api.build(settings), TENANT),
            dynamo,
            tmp_path_factory.mktemp("chinook"),
        )
        for entity, rows in chinook.by_entity.items():
            found.load(entity, rows)
            found.pump.run()
        found.load("Artist", [{"id": "1", "name": "Of another tenant"}], OTHER)
        found.catch_up()
        yield found
        dynamodb.close()


def same(found: list[Row], wanted: list[Row]) -> bool:
    """Whether the same items were found, each once."""
    return sorted(row["id"] for row in found) == sorted(row["id"] for row in wanted)


def test_everything_is_loaded(library: Library) -> None:
    counted: Counter[str] = Counter()
    for page in library.pump.dynamodb.get_paginator("scan").paginate(TableName=library.table.name):
        for item in page["Items"]:
            if "type" in item and item["PK"]["S"].startswith(f"{TENANT}#"):
                counted[item["type"]["S"]] += 1
    assert counted == {"Artist": 275, "Album": 347, "Song": 3503, "Playlist": 18, "Track": 8715}


def test_every_artist_by_name(library: Library, chinook: Chinook) -> None:
    folded = {row["id"]: split_words(fold(row["name"])).split() for row in chinook.artists}
    for artist in choose_lookups(chinook.artists):
        asked = " ".join(artist["name"].split()[:5])
        words = [split_words(word).replace(" ", "") for word in fold(asked).split()]
        words = [word for word in words if has_words(word)] or words

        def starts(text: str, row: Row) -> bool:
            own = folded[row["id"]]
            return any("".join(own[at:]).startswith(text) for at in range(len(own)))

        wanted = [
            row
            for row in chinook.artists
            if starts("".join(words), row) or all(starts(word, row) for word in words)
        ]
        assert artist in wanted
        assert same(library.acme.everything(at("/artists", name=asked)), wanted), asked


def test_every_beginning_of_an_artist(library: Library, chinook: Chinook) -> None:
    # Lengths around the steps of the grams, where a keyword comes through a shorter list.
    forms: dict[str, set[str]] = {}
    for row in chinook.artists:
        words = split_words(fold(row["name"])).split()
        forms[row["id"]] = {"".join(words[at:]) for at in range(len(words))}
    lengths = (1, 2, 3, 4, 6, 9)
    beginnings = {form[:n] for each in forms.values() for form in each for n in lengths}
    for beginning in choose_lookups(sorted(beginnings)):
        found = library.acme.everything(at("/artists", name=beginning))
        wanted = [id for id, own in forms.items() if any(f.startswith(beginning) for f in own)]
        assert sorted(each["id"] for each in found) == sorted(wanted), beginning


def test_songs_of_every_artist_by_name(library: Library, chinook: Chinook) -> None:
    for name in choose_lookups({row["name"]: None for row in chinook.artists}):
        called = {row["id"] for row in chinook.artists if fold(row["name"]) == fold(name)}
        wanted = [row for row in chinook.songs if row["artist"] in called]
        assert same(library.acme.everything(at("/songs", artist=name)), wanted), name


def test_albums_of_every_genre(library: Library, chinook: Chinook) -> None:
    genres = {row["genre"] for row in chinook.albums}
    assert len(genres) > 20
    for genre in genres:
        wanted = [row for row in chinook.albums if row["genre"] == genre]
        assert same(library.acme.everything(at("/albums", genre=genre)), wanted), genre


def test_songs_of_every_artist_and_year(library: Library, chinook: Chinook) -> None:
    names = {row["id"]: row["name"] for row in chinook.artists}
    grouped: defaultdict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in chinook.songs:
        grouped[fold(names[row["artist"]]), row["released"]].append(row)
    for (name, year), wanted in choose_lookups(grouped.items()):
        found = library.acme.everything(at("/songs", artist=name, released=year))
        assert same(found, wanted), (name, year)
    (artist, _), year = next(iter(grouped)), 2026
    assert library.acme.everything(at("/songs", artist=artist, released=year)) == []


def test_songs_of_every_title(library: Library, chinook: Chinook) -> None:
    grouped: defaultdict[str, list[Row]] = defaultdict(list)
    for row in chinook.songs:
        grouped[fold(row["title"])].append(row)
    shown = {fold(row["title"]): row["title"] for row in chinook.songs}
    for title, wanted in choose_lookups(grouped.items()):
        assert same(library.acme.everything(at("/songs", title=shown[title])), wanted), title


def test_both_ends_of_every_link(library: Library, chinook: Chinook) -> None:
    forward, backward = set(), set()
    for playlist in chinook.playlists:
        found = library.acme.everything(f"/playlists/{playlist['id']}/songs")
        links = [(edge["playlist"], edge["song"]) for edge in found]
        assert links == sorted(set(links))
        forward.update(links)
    songs = choose_lookups(chinook.songs)
    for song in songs:
        found = library.acme.everything(f"/songs/{song['id']}/playlists")
        links = [(edge["playlist"], edge["song"]) for edge in found]
        assert links == sorted(set(links))
        backward.update(links)
    assert forward == {(row["playlist"], row["song"]) for row in chinook.tracks}
    ids = {song["id"] for song in songs}
    assert backward == {(playlist, song) for playlist, song in forward if song in ids}


@pytest.fixture(scope="module")
def downloads(library: Library, chinook: Chinook) -> dict[str, Row]:
    """Downloads, Zipf-distributed over songs; some deleted, some moved to another month."""
    draw = random.Random(20261121)
    songs = draw.sample(chinook.songs, len(chinook.songs))
    weights = [(place + 1) ** -EXPONENT for place in range(len(songs))]
    rows = {
        f"d{number:05d}": {
            "id": f"d{number:05d}",
            "song": song["id"],
            "at": _moment(draw).isoformat(),
        }
        for number, song in enumerate(draw.choices(songs, weights, k=DOWNLOADS))
    }
    for begin in range(0, DOWNLOADS, 5_000):
        library.load("Download", list(rows.values())[begin : begin + 5_000])
        library.pump.run()
    library.catch_up()
    book = Book(library.table, library.ledger, TENANT)
    changed = draw.sample(sorted(rows), DELETED + MOVED)
    for number, id in enumerate(changed):
        one = Download.key(rows[id]["song"], id)
        if number < DELETED:
            book.delete(one)
            del rows[id]
        else:
            rows[id]["at"] = _moment(draw).isoformat()
            book.change(one, {"at": rows[id]["at"]})
        if number == DELETED // 2:
            library.pump.run()
    library.catch_up()
    return rows


def _moment(draw: random.Random) -> dt.datetime:
    return draw.choice(MONTHS) + dt.timedelta(seconds=draw.randrange(28 * 86_400))


@pytest.mark.parametrize("by", ["song", "artist"])
def test_every_chart_and_rank(
    library: Library, chinook: Chinook, downloads: dict[str, Row], by: str
) -> None:
    artist_of = {row["id"]: row["artist"] for row in chinook.songs}
    counted: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in downloads.values():
        member = row["song"] if by == "song" else artist_of[row["song"]]
        counted[row["at"][:7]][member] += 1
    assert len(counted) == len(MONTHS)
    charts = "/charts" if by == "song" else "/artist-charts"
    for month, counts in counted.items():
        ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
        wanted = [
            {by: member, "count": count, "rank": rank}
            for rank, (member, count) in enumerate(ordered, 1)
        ]
        assert library.acme.everything(f"{charts}/{month}") == wanted
        for each in choose_lookups(wanted):
            assert library.acme.figure(at(f"{charts}/{month}/{each[by]}")) == each
    live = library.acme.good(
        "GET", at(f"{charts}/2026-03/{next(iter(counted['2026-03']))}", live="true")
    )
    assert live["count"] == next(iter(counted["2026-03"].values()))
