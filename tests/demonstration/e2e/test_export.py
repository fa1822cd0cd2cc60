"""The parallel scan (seed 002) on the deployed stack: what the API serves, and only that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from daicho_cli.main import app
from tests.e2e.api import client, everything

CITIES = 12


def test_a_tenant_is_exported_as_the_api_shows_it(stack: dict[str, Any], tmp_path: Path) -> None:
    with client(stack, "globex") as api, client(stack, "acme") as other:
        for number in range(CITIES):
            body = {"population": number, "note": f"#{number} 台"}
            for each in (api, other):
                put = each.put(f"/places/exported/%23$/a%20b/{number}", json=body)
                assert put.status_code in (200, 201), put.text
        sections = {"text": "x" * 500_000, "more": [1, 2.5, None]}
        api.put("/documents/exported", json={"sections": sections}).raise_for_status()
        shown = {each["city"]: each for each in everything(api, "/places", under="exported")}
        assert len(shown) == CITIES

    named, file = tmp_path / "stack.json", tmp_path / "exported.ndjson"
    named.write_text(json.dumps(stack), "utf-8")
    asked = ["export", str(file), "--stack", str(named), "--tenant", "globex"]
    asked += ["--entity", "Place", "--entity", "Document", "--segments", "5", "--parallelism", "3"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert {row["tenant"] for row in rows} == {"globex"}
    places = [row for row in rows if row["item"].get("country") == "exported"]
    assert len(places) == CITIES
    assert {
        row["item"]["city"]: {**row["item"], "version": row["version"]} for row in places
    } == shown
    (document,) = [row for row in rows if row["item"].get("id") == "exported"]
    assert document["item"]["sections"] == sections
    assert "was exported before" in CliRunner().invoke(app, asked).output
