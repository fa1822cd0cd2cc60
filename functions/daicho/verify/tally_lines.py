"""What a verification of tallies keeps in objects, so that its memory is bounded.

A *line* is a JSON array of a kind, a tally, and what the kind has:

- ``item``: what a base item contributes: the item, the part of the tally, the amount.
- ``tally``: the tally exists.
- ``entry``: an entry of the journal (`daicho.stream.journal`), without its tally.

First, lines are stored in the order in which they are read. Later they are spread over partitions
by a hash of their tally, so that all lines of a tally are in one partition::

    journal/<run>/<kind of lines>/<digest>        in the order of reading
    journal/<run>/part-<number>/<digest>          of a partition

The name of an object follows from its content. So a step that repeats another one does no harm.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import keys
from daicho.storage.bucket import Bucket

LINES_PER_PARTITION = 100_000
"""Lines that are in memory at once when tallies are judged: about 100 MB."""
LINES_PER_GROUP = 400_000
"""Lines that are in memory at once when they are spread over partitions."""
Line = Sequence[Any]


@dataclass(frozen=True)
class LineStore:
    """The lines of one run. ``prefix``: how the names of its objects begin."""

    bucket: Bucket
    prefix: str

    def write(self, folder: str, lines: Sequence[Line]) -> None:
        """Store lines in an object of a folder.

        Raises:
            UnavailableError: it is unknown whether they are stored.
        """
        body = "\n".join(map(json.dumps, lines)).encode()
        self._create(f"{folder}/{hashlib.blake2b(body, digest_size=10).hexdigest()}", body)

    def write_once(self, name: str, lines: Sequence[Line]) -> list[list[Any]]:
        """Store lines under a name, unless that was done; returns the lines that it has.

        Raises:
            UnavailableError: it is unknown whether they are stored.
        """
        self._create(name, "\n".join(map(json.dumps, lines)).encode())
        return list(self.read_object(f"{self.prefix}{name}"))

    def _create(self, name: str, body: bytes) -> None:
        self.bucket.create(f"{self.prefix}{name}", gzip.compress(body, 1), {})

    def read(self, folder: str) -> Iterator[list[Any]]:
        """The lines of all objects of a folder."""
        for name in self.list_names(folder):
            yield from self.read_object(name)

    def list_names(self, folder: str, behind: str = "") -> Iterator[str]:
        """The objects of a folder, in order of name."""
        return self.bucket.list_names(f"{self.prefix}{folder}/", behind=behind)

    def read_object(self, name: str) -> Iterator[list[Any]]:
        """The lines of an object; none if it does not exist."""
        body = self.bucket.read(name)
        for line in gzip.decompress(body).split(b"\n") if body else ():
            yield json.loads(line)

    def spread(self, lines: Iterable[Line], partitions: int) -> None:
        """Store lines in the partitions of their tallies."""
        spread: defaultdict[int, list[Line]] = defaultdict(list)
        for line in lines:
            spread[keys.compute_shard(partitions, line[1])].append(line)
        for number, some in spread.items():
            self.write(render_partition(number), some)


def render_partition(number: int) -> str:
    """The folder of a partition."""
    return f"part-{number:06}"
