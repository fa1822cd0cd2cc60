"""`daicho load` of copied fields: read once for all rows, or stored as a row has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mypy_boto3_dynamodb import DynamoDBClient

from daicho.layout.tenant_items import build_closed_mark_key
from daicho.storage.attributes import Image
from daicho.storage.table import Table
from tests.integration.commands.test_load import NOON, loader, stored, written
from tests.support.sample_domains.music import Download, Song


def test_what_is_copied_is_read_once(
    dynamodb: DynamoDBClient, table_name: str, tmp_path: Path
) -> None:
    reads: list[Any] = []

    class Counting(Table):
        def get(self, key: Any, *, consistent: bool = False, **_: Any) -> Image | None:
            reads.append(key)
            return super().get(key, consistent=consistent)

    table = Counting(dynamodb, table_name)
    songs = [{"id": f"s{n}", "title": "t", "artist": f"a{n}", "released": 1} for n in range(3)]
    loader(table, written(tmp_path / "songs.ndjson", songs), Song).run()
    at = "2026-01-01T00:00:00Z"
    rows: list[Any] = [{"song": f"s{n % 4}", "id": str(n), "at": at} for n in range(40)]
    rows.append({"song": "s1", "id": "copied", "at": at, "artist": "mine"})
    rows.append({"song": "s1", "id": "now"})
    state = loader(table, written(tmp_path / "d.ndjson", rows), Download).run()
    assert (state.loaded, state.rejected) == (32, 10)
    assert len([key for key in reads if key != build_closed_mark_key("acme")]) == 4
    found = stored(dynamodb, table_name)
    assert found["1"]["artist"] == {"S": "a1"}
    assert found["copied"]["artist"] == {"S": "mine"}  # as an export of another time has it
    assert found["now"]["at"] == {"S": NOON}
    aside = (tmp_path / "d.ndjson.rejected.ndjson").read_text().splitlines()
    assert {json.loads(line)["error"]["field"] for line in aside} == {"song"}
