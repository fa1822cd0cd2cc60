"""What a verification of tallies keeps in objects, so that its memory is bounded.

A *line* is a JSON array of a kind, a tally, and what the kind has:

- ``item``: what a base item contributes: the item, the part of the tally, the amount.
- ``tally``: the tally exists.
- ``entry``: an entry of the journal (`daicho.stream.journal`).

First, lines are stored in the order in which they are read. Later they are spread over partitions
by a hash of their tally, so that all lines of a tally are in one partition::

    journal/<run>/lines/<digest>               as read; the first line names the object before
    journal/<run>/items-<partition>/<digest>   of the scan
    journal/<run>/entries-<partition>/<digest> of the journal

Each line of the scan counts once, also if a step is killed and repeated. The job knows the last
object of a chain, and each object the one before. What a killed step has stored is in no chain.
Spreading a chain again from the same place gives the same objects, because their names follow from
their content.
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

LINES_PER_PARTITION = 20_000
"""Lines of a partition, about. So many tallies or fewer are read and judged in a minute."""
LINES_PER_GROUP = 200_000
"""Lines that are in memory at once when they are spread over partitions: about 150 MB."""
CHAIN = "lines"
"""The folder of the lines of the scan."""
Line = Sequence[Any]


@dataclass(frozen=True)
class LineStore:
    """The lines of one run. ``prefix``: how the names of its objects begin."""

    bucket: Bucket
    prefix: str

    def write(self, folder: str, lines: Sequence[Line]) -> str:
        """Store lines in an object of a folder; returns its name.

        Raises:
            UnavailableError: it is unknown whether they are stored.
        """
        body = "\n".join(map(json.dumps, lines)).encode()
        name = f"{folder}/{hashlib.blake2b(body, digest_size=10).hexdigest()}"
        self._create(name, body)
        return f"{self.prefix}{name}"

    def append(self, last: str, lines: Sequence[Line]) -> str:
        """Store lines behind the object ``last`` of a chain, or "" ; returns the new last one."""
        return self.write(CHAIN, [["behind", last], *lines])

    def read_chain(self, last: str) -> Iterator[tuple[str, Sequence[Line]]]:
        """The lines of each object of a chain, the last one first, with the object before it."""
        while last:
            (_, last), *lines = self.read_object(last)
            yield last, lines

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

    def spread(self, kind: str, lines: Iterable[Line], partitions: int) -> None:
        """Store lines of a kind in the partitions of their tallies."""
        spread: defaultdict[int, list[Line]] = defaultdict(list)
        for line in lines:
            spread[keys.compute_shard(partitions, line[1])].append(line)
        for number, some in spread.items():
            self.write(render_folder(kind, number), some)


def render_folder(kind: str, partition: int) -> str:
    """The folder of the lines of a kind in a partition."""
    return f"{kind}-{partition:06}"
