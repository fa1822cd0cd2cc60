"""Files of Dynoxide, written without Dynoxide.

Dynoxide's import takes 42 µs an item; this module takes 34, with making the item. The rows are the
same as the rows of ``dynoxide import``: `compare_with_import` checks this. They are inserted in the
order of the index's keys, in large blocks, so that each page of the file is written only a few
times.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from json.encoder import encode_basestring as _quoted
from pathlib import Path
from typing import Any

from daicho.storage import attributes
from daicho.storage.attributes import Image
from tests.support.dynoxide import client, program, serving

CREATE = Callable[[Any, str], object]
FAST = (
    "PRAGMA journal_mode = OFF",
    "PRAGMA synchronous = OFF",
    "PRAGMA locking_mode = EXCLUSIVE",
    "PRAGMA cache_size = -400000",
)
_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

Keys = tuple[str, str]
Rows = list[tuple[str, list[tuple[Any, ...]]]]
"""Statements, each with its rows."""


class DifferentError(Exception):
    """Dynoxide's import writes other rows: this module is made for another version of it."""


def create(database: Path, table: str, create_table: CREATE) -> None:
    """A new file with an empty table."""
    with serving(database) as endpoint:
        create_table(client(endpoint), table)


@dataclass(frozen=True)
class Layout:
    """The keys of a table, and the keys and projections of its indexes."""

    table: str
    keys: Keys
    indexes: tuple[tuple[str, Keys, Any], ...]

    @classmethod
    def of(cls, database: Path, table: str) -> Layout:
        """Read the layout of a file that `create` made."""
        with closing(sqlite3.connect(database)) as connection:
            keys, indexes = connection.execute(
                "SELECT key_schema, gsi_definitions FROM _tables WHERE table_name = ?", (table,)
            ).fetchone()
        layouts = (
            (index["IndexName"], _names(index["KeySchema"]), index["Projection"])
            for index in json.loads(indexes or "[]")
        )
        return cls(table, _names(json.loads(keys)), tuple(layouts))

    def rows(self, items: Sequence[Image]) -> Rows:
        """The rows of items in the table and in the indexes, in the order of their keys."""
        base = f'INSERT INTO "{self.table}" VALUES (?, ?, ?, ?, NULL, ?)'  # noqa: S608
        statements: Rows = [(base, sorted(self._base(items)))]
        for name, keys, projection in self.indexes:
            row = f'INSERT INTO "{self.table}::gsi::{name}" VALUES (?, ?, ?, ?, ?)'  # noqa: S608
            statements.append((row, sorted(self._projected(items, keys, projection))))
        return statements

    def _base(self, items: Iterable[Image]) -> Iterator[tuple[str, str, str, int, str]]:
        partition, sort = self.keys
        for item in items:
            pk, sk = item[partition]["S"], item[sort]["S"]
            text, size = _encode(item)
            yield f"S:{pk}", f"S:{sk}", text, size, _share(pk)

    def _projected(
        self, items: Iterable[Image], keys: Keys, projection: Any
    ) -> Iterator[tuple[str, ...]]:
        has_all = projection["ProjectionType"] == "ALL"
        attribute_names = {*self.keys, *keys, *projection.get("NonKeyAttributes", ())}
        for item in items:
            if keys[0] not in item or keys[1] not in item:
                continue
            row = (
                item if has_all else {name: item[name] for name in attribute_names if name in item}
            )
            values = (item[name]["S"] for name in (*keys, *self.keys))
            yield (*["S:" + value for value in values], _encode(row)[0])


def insert(database: Path, blocks: Iterable[Rows]) -> None:
    """Put rows into empty tables that `create` made.

    They get an index in the order of a scan: Dynoxide has none, and sorts the rest of the table for
    each page of a segment.
    """
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        for pragma in FAST:
            connection.execute(pragma)
        for block in blocks:
            connection.execute("BEGIN")
            for statement, rows in block:
                connection.executemany(statement, rows)
            connection.execute("COMMIT")
        for (table,) in connection.execute("SELECT table_name FROM _tables").fetchall():
            columns = "(hash_prefix, pk, sk)"
            connection.execute(f'CREATE INDEX "{table}::scan" ON "{table}" {columns}')
        connection.execute("PRAGMA locking_mode = NORMAL")
        connection.execute("PRAGMA journal_mode = WAL")


def compare_with_import(table: str, create_table: CREATE, items: Iterable[Image]) -> None:
    """Compare the rows of this module with the rows of Dynoxide's import.

    Raises:
        DifferentError: the rows are not the same.
    """
    sample = list(items)
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Path(folder, "ours.db"), Path(folder, "theirs.db")
        create(ours, table, create_table)
        insert(ours, [Layout.of(ours, table).rows(sample)])
        _import(Path(folder), table, create_table, sample, theirs)
        with closing(sqlite3.connect(ours)) as one, closing(sqlite3.connect(theirs)) as other:
            names = [
                name
                for (name,) in one.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            ]
            for name in (candidate for candidate in names if candidate.startswith(table)):
                if _rows(one, name) != _rows(other, name):
                    raise DifferentError(f"{name} is not what Dynoxide imports")


def _encode(item: Image) -> tuple[str, int]:
    """An item as JSON, and its size.

    An item that contains only strings, such as a derived item, is encoded by a faster method.
    """
    try:
        texts = [(name, value["S"]) for name, value in item.items()]
    except KeyError:
        return _json(item), attributes.measure_image(item)
    text = ",".join([f'"{name}":{{"S":{_quoted(text)}}}' for name, text in texts])
    return f"{{{text}}}", sum([len(name) + len(text.encode()) for name, text in texts])


@lru_cache(maxsize=64)
def _share(pk: str) -> str:
    """The segment key of a partition in a parallel scan."""
    return hashlib.md5(b"Outliers" + pk.encode(), usedforsecurity=False).hexdigest()[:6]


def _names(schema: Any) -> Keys:
    kinds = {key["KeyType"]: str(key["AttributeName"]) for key in schema}
    return kinds["HASH"], kinds["RANGE"]


def _rows(connection: sqlite3.Connection, name: str) -> list[Any]:
    columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')]
    place = columns.index("item_json")
    rows = connection.execute(f'SELECT * FROM "{name}" ORDER BY 1, 2, 3, 4')  # noqa: S608
    return [(*row[:place], json.loads(row[place]), *row[place + 1 :]) for row in rows]


def _import(
    folder: Path, table: str, create_table: CREATE, items: list[Image], output: Path
) -> None:
    """Make a file by an import of items in the format of a DynamoDB export."""
    data = folder / "export" / table / "data"
    data.mkdir(parents=True)
    with gzip.open(data / "0.json.gz", "wt", encoding="utf-8") as file:
        file.writelines(_json({"Item": item}) + "\n" for item in items)
    with serving() as endpoint:
        dynamodb = client(endpoint)
        create_table(dynamodb, table)
        described = {"Table": dynamodb.describe_table(TableName=table)["Table"]}
    schema = folder / "schema.json"
    schema.write_text(json.dumps(described, default=str), encoding="utf-8")
    command = [program(), "import", "--source", folder / "export", "--schema", schema]
    subprocess.run(  # noqa: S603 (our own paths)
        [*map(str, command), "--output", str(output)], check=True, capture_output=True
    )
