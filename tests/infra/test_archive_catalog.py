"""The archive as a table: what is described is what the archiver writes."""

from __future__ import annotations

import datetime as dt
import json
import re
from typing import Any

import duckdb
import pytest

from daicho.archive.chain import Chain, render_folder
from daicho.cdk.archive_catalog import QUERIES
from tests.infra.synthesis import Synthesis
from tests.support.memory_archive import DAY, MIDNIGHT, Kept, render_seq

ROW = {"tenant": str, "gen": int, "deleted_at": str, "seq": str, "raw": bool, "item": dict}
HIVE = {str: "string", int: "int", bool: "boolean", dict: "string"}


def table(stage: Synthesis) -> dict[str, Any]:
    found: dict[str, Any] = stage.only("Glue::Table")["Properties"]["TableInput"]
    return found


def parameters(stage: Synthesis) -> dict[str, Any]:
    found: dict[str, Any] = table(stage)["Parameters"]
    return found


def configuration(stage: Synthesis) -> dict[str, Any]:
    found: dict[str, Any]
    found = stage.only("Athena::WorkGroup")["Properties"]["WorkGroupConfiguration"]
    return found


def columns(stage: Synthesis) -> dict[str, str]:
    described = table(stage)["StorageDescriptor"]["Columns"]
    return {each["Name"]: each["Type"] for each in described}


def partitions(stage: Synthesis) -> list[str]:
    return [each["Name"] for each in table(stage)["PartitionKeys"]]


@pytest.mark.parametrize("changed", [{}, {"gen": {"N": "9"}}], ids=["readable", "raw"])
def test_the_columns_are_those_of_a_row(any_stage: Synthesis, changed: dict[str, Any]) -> None:
    kept = Kept()
    kept.append(1, **changed)
    (row,) = kept.rows()
    written = json.loads(row.line)
    # The row says its entity too, and so does its folder: Glue refuses a column of both.
    assert {"entity"} == set(written) - set(columns(any_stage))
    assert {name: HIVE[type(value)] for name, value in written.items() if name != "entity"} == (
        columns(any_stage)
    )
    assert {name: type(value) for name, value in written.items() if name != "entity"} == ROW


def test_lines_are_text_of_gzip_objects(any_stage: Synthesis) -> None:
    assert table(any_stage)["StorageDescriptor"]["Compressed"] is True
    kept = Kept()
    kept.append(1, 2)
    (name,) = kept.bucket.objects
    assert name.endswith(".gz")  # by which Athena knows it
    # Athena passes over names that begin with a dot or an underscore.
    assert name.rpartition("/")[2][0] not in "._"


def test_partitions_are_projected_into_the_folders_of_the_archiver(any_stage: Synthesis) -> None:
    assert partitions(any_stage) == ["entity", "dt"]
    template = parameters(any_stage)["storage.location.template"]["Fn::Join"][1]
    assert template[:2] == ["s3://", {"Ref": any_stage.bucket_id("Archive")}]
    day = dt.date(2026, 11, 21)
    filled = template[2].replace("${entity}", "Download").replace("${dt}", day.isoformat())
    assert filled == f"/{render_folder('Download', day)}"
    assert Chain("s", "Download", day).render_link_name("0").startswith(filled[1:])


def test_every_entity_that_was_ever_archived_is_projected(any_stage: Synthesis) -> None:
    described = parameters(any_stage)
    assert described["projection.enabled"] == "true"
    assert described["projection.entity.type"] == "enum"
    assert described["projection.entity.values"].split(",") == ["Message", "Reading"]


def test_answers_are_encrypted_and_go_where_they_expire(any_stage: Synthesis) -> None:
    found = configuration(any_stage)
    assert found["EnforceWorkGroupConfiguration"] is True
    answers = found["ResultConfiguration"]
    assert answers["EncryptionConfiguration"] == {"EncryptionOption": "SSE_S3"}
    assert answers["ExpectedBucketOwner"] == {"Ref": "AWS::AccountId"}
    joined = answers["OutputLocation"]["Fn::Join"][1]
    assert joined == ["s3://", {"Ref": any_stage.bucket_id("Results")}, "/answers/"]


def test_saved_queries_name_what_there_is(on_aws: Synthesis, local: Synthesis) -> None:
    assert not local.resources("Athena::NamedQuery")  # the local AWS refuses them
    saved = [each["Properties"] for each in on_aws.resources("Athena::NamedQuery").values()]
    assert len(saved) == 3
    known = {*columns(on_aws), *partitions(on_aws)}
    for each in saved:
        sql = each["QueryString"]
        selected, table_name = re.match(r"SELECT (.*)\nFROM (\w+)\n", sql).groups()  # type: ignore[union-attr]
        assert table_name == table(on_aws)["Name"]
        named = set(re.findall(r"\b[a-z_]+\b", re.sub(r"AS \w+|'[^']*'|\w+\(\*\)", "", selected)))
        assert named - {"count_if"} <= known
        # Days always: without them every day since the first one is listed.
        assert "dt BETWEEN ? AND ?" in sql
        assert each["Description"].count(",") == sql.count("?") - 1
        assert each["WorkGroup"] == {"Ref": next(iter(on_aws.resources("Athena::WorkGroup")))}


def ask(id: str, kept: Kept, *values: str) -> list[tuple[Any, ...]]:
    """Run a saved query over an archive's rows, in DuckDB, whose functions are Athena's here."""
    (saved,) = (each for each in QUERIES if each.id == id)
    sql = saved.sql
    for value in values:
        sql = sql.replace("?", f"'{value}'", 1)
    names = ("deleted_at", "entity", "tenant", "seq", "raw", "item", "dt")
    rows = [{**json.loads(row.line), "dt": f"{row.deleted_at:%F}"} for row in kept.rows()]
    stored = [[row[n] if n == "raw" else _to_text(row[n]) for n in names] for row in rows]
    connection = duckdb.connect()
    columns = ", ".join(f"{n} {'BOOLEAN' if n == 'raw' else 'VARCHAR'}" for n in names)
    connection.execute(f"CREATE TABLE archive ({columns})")
    connection.executemany("INSERT INTO archive VALUES (?, ?, ?, ?, ?, ?, ?)", stored)
    connection.execute("CREATE MACRO json_extract_scalar(j, path) AS json_extract_string(j, path)")
    return connection.execute(sql).fetchall()


def _to_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def test_saved_queries_answer() -> None:
    kept = Kept()
    kept.append(1, 2)
    kept.append(3, tenant="other")
    kept.append(4, at=MIDNIGHT + DAY, gen={"N": "9"})
    first, last = "2026-11-21", "2026-11-22"
    key = kept.rows()[1].key
    assert ask("DeletionsADay", kept, first, last) == [
        (first, "Download", "other", 1, 0),
        (first, "Download", "t", 2, 0),
        (last, "Download", "t", 1, 1),
    ]
    found = ask("TenantsRows", kept, "Download", first, first, "t")
    assert [row[1] for row in found] == [render_seq(1), render_seq(2)]
    (row,) = ask("HistoryOfAKey", kept, "Download", first, last, key.pk, key.sk)
    assert row[1] == render_seq(2)
    assert ask("HistoryOfAKey", kept, "Download", last, last, key.pk, key.sk) == []
