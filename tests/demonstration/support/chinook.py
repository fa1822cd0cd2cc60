"""The Chinook sample database as our music library: rows to load, answers to compare with.

Chinook has no release years and its genres belong to tracks: a song's year is 1960 + AlbumId mod
60, an album's genre its lowest GenreId. Where the file is absent, tests that want it are skipped.
Source: lerocha/chinook-database.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
FILE = Path(os.environ.get("DAICHO_CHINOOK", ROOT.parent / "shared" / "data" / "chinook.json"))
Row = dict[str, Any]


@dataclass
class Chinook:
    """Rows by entity, ids as text."""

    artists: list[Row] = field(default_factory=list)
    albums: list[Row] = field(default_factory=list)
    songs: list[Row] = field(default_factory=list)
    playlists: list[Row] = field(default_factory=list)
    tracks: list[Row] = field(default_factory=list)

    @classmethod
    def read(cls) -> Chinook:
        """Read the file, or skip the test."""
        if not FILE.exists():
            pytest.skip(f"no Chinook at {FILE}")
        data = json.loads(FILE.read_text("utf-8"))
        genre_names = {row["GenreId"]: row["Name"] for row in data["Genre"]}
        genres: defaultdict[int, set[int]] = defaultdict(set)
        for row in data["Track"]:
            genres[row["AlbumId"]].add(row["GenreId"])
        artist_of = {row["AlbumId"]: str(row["ArtistId"]) for row in data["Album"]}
        return cls(
            artists=[{"id": str(r["ArtistId"]), "name": r["Name"]} for r in data["Artist"]],
            albums=[
                {
                    "id": str(row["AlbumId"]),
                    "title": row["Title"],
                    "artist": str(row["ArtistId"]),
                    "genre": genre_names[min(genres[row["AlbumId"]])],
                }
                for row in data["Album"]
            ],
            songs=[
                {
                    "id": str(row["TrackId"]),
                    "title": row["Name"],
                    "artist": artist_of[row["AlbumId"]],
                    "released": 1960 + row["AlbumId"] % 60,
                    "album": str(row["AlbumId"]),
                }
                for row in data["Track"]
            ],
            playlists=[{"id": str(r["PlaylistId"]), "name": r["Name"]} for r in data["Playlist"]],
            tracks=[
                {"playlist": str(row["PlaylistId"]), "song": str(row["TrackId"])}
                for row in data["PlaylistTrack"]
            ],
        )

    @cached_property
    def by_entity(self) -> dict[str, list[Row]]:
        """Rows by the entity's name, in an order in which they can be loaded."""
        return {
            "Artist": self.artists,
            "Album": self.albums,
            "Song": self.songs,
            "Playlist": self.playlists,
            "Track": self.tracks,
        }
