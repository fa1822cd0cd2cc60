"""The music library over HTTP, with Chinook loaded by the command; 50 of each question."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from daicho.search.normalise import fold
from daicho.search.words import split_words
from tests.demonstration.e2e.delivery import delivered
from tests.demonstration.support.chinook import ROOT, Chinook, ids
from tests.e2e.api import client, everything

SAMPLE = 50


@pytest.fixture(scope="module")
def chinook() -> Chinook:
    return Chinook.read()


@pytest.fixture(scope="module")
def api(stack: dict[str, Any], chinook: Chinook, tmp_path_factory: Any) -> Iterator[httpx.Client]:
    folder: Path = tmp_path_factory.mktemp("chinook")
    stack_file = folder / "stack.json"
    stack_file.write_text(json.dumps(stack), "utf-8")
    for entity, rows in chinook.by_entity.items():
        file = folder / f"{entity}.ndjson"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        command = [
            sys.executable,
            "-m",
            "daicho_cli.main",
            "load",
            entity,
            str(file),
            "--tenant",
            "globex",
        ]
        subprocess.run(
            [*command, "--stack", str(stack_file)], check=True, cwd=ROOT, capture_output=True
        )
    with client(stack, "globex") as api:
        delivered(api)
        yield api


def sample(values: Any) -> list[Any]:
    found = sorted(set(values))
    return random.Random(4).sample(found, min(SAMPLE, len(found)))


def loaded(found: list[dict[str, Any]], rows: list[dict[str, Any]]) -> set[str]:
    """Ids of what was found, without the demo data that stand there too."""
    known = {row["id"] for row in rows}
    return {item["id"] for item in found if item["id"] in known}


def test_songs_of_an_artist_by_name(api: httpx.Client, chinook: Chinook) -> None:
    for artist in sample((row["id"], row["name"]) for row in chinook.artists):
        found = everything(api, "/songs", artist=artist[1])
        assert loaded(found, chinook.songs) == ids(chinook.songs, artist=artist[0]), artist


def test_both_ends_of_what_an_artist_made(api: httpx.Client, chinook: Chinook) -> None:
    for artist in sample(row["id"] for row in chinook.artists)[:10]:
        for kind, rows in (("songs", chinook.songs), ("albums", chinook.albums)):
            found = everything(api, f"/artists/{artist}/{kind}")
            assert {each["artist"] for each in found} <= {artist}
            assert loaded(found, rows) == ids(rows, artist=artist), (artist, kind)


def test_albums_by_genre(api: httpx.Client, chinook: Chinook) -> None:
    for genre in sample(row["genre"] for row in chinook.albums):
        found = everything(api, "/albums", genre=genre)
        assert loaded(found, chinook.albums) == ids(chinook.albums, genre=genre), genre


def test_songs_by_artist_and_year(api: httpx.Client, chinook: Chinook) -> None:
    names = {row["id"]: row["name"] for row in chinook.artists}
    for artist, year in sample((row["artist"], row["released"]) for row in chinook.songs):
        found = everything(api, "/songs", artist=names[artist], released=year)
        assert loaded(found, chinook.songs) == ids(chinook.songs, artist=artist, released=year)


def test_songs_by_title(api: httpx.Client, chinook: Chinook) -> None:
    titles: defaultdict[str, set[str]] = defaultdict(set)
    for row in chinook.songs:
        titles[fold(row["title"])].add(row["id"])
    for title in sample(row["title"] for row in chinook.songs):
        found = everything(api, "/songs", title=title)
        assert loaded(found, chinook.songs) == titles[fold(title)], title


def test_both_ends_of_playlist_links(api: httpx.Client, chinook: Chinook) -> None:
    for song in sample(row["song"] for row in chinook.tracks):
        found = everything(api, f"/songs/{song}/playlists")
        linked = {row["playlist"] for row in chinook.tracks if row["song"] == song}
        assert {edge["playlist"] for edge in found} == linked


def test_every_link_of_the_longest_playlist(api: httpx.Client, chinook: Chinook) -> None:
    found = everything(api, "/playlists/1/songs")
    assert [edge["song"] for edge in found] == sorted(
        row["song"] for row in chinook.tracks if row["playlist"] == "1"
    )


def test_artists_by_the_beginning_of_a_word(api: httpx.Client, chinook: Chinook) -> None:
    plain = [row for row in chinook.artists if row["name"].isascii()]
    words = {row["id"]: split_words(fold(row["name"])).split() for row in plain}
    for prefix in sample(words[row["id"]][0][:3] for row in plain):
        found = {artist["id"] for artist in everything(api, "/artists", name=prefix)}
        for row in plain:
            own = words[row["id"]]
            starts = any("".join(own[at:]).startswith(prefix) for at in range(len(own)))
            assert (row["id"] in found) == starts, (prefix, row)


def test_renaming_an_artist_changes_what_is_found(stack: dict[str, Any]) -> None:
    with client(stack, "acme") as api:
        api.put("/artists/renamed", json={"name": "Prince"}).raise_for_status()
        delivered(api)
        assert "Prince" in names(api, "prin")
        answer = api.patch("/artists/renamed", json={"name": "The Artist"})
        assert answer.status_code == 200, answer.text
        delivered(api)
        assert "The Artist" in names(api, "artist")
        assert names(api, "prin") == []
        api.delete("/artists/renamed").raise_for_status()


def names(api: httpx.Client, prefix: str) -> list[str]:
    return [artist["name"] for artist in everything(api, "/artists", name=prefix)]
