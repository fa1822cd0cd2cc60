"""The archive as a table: what is described is what the archiver writes."""

from __future__ import annotations

import datetime as dt
import json
import re
from pathlib import Path
from typing import Any

import pytest

from daicho.archive.chain import Chain, render_folder
from daicho.archive.reader import Selection
from daicho.cdk.archive_catalog import QUERIES
from daicho_cli.archive.engines import open_engine, render_literal
from tests.infra.synthesis import Synthesis, synthesise
from tests.support.memory_archive import DAY, MIDNIGHT, Kept, build_expired_batch, render_seq

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


def test_a_row_without_a_generation_is_null_there(any_stage: Synthesis) -> None:
    kept = Kept()
    kept.append(1, gen={"S": "odd"})
    (row,) = kept.rows()
    assert json.loads(row.line)["gen"] is None
    assert columns(any_stage)["gen"] == "int"


def test_lines_are_text_of_gzip_objects(any_stage: Synthesis) -> None:
    described = table(any_stage)["StorageDescriptor"]
    assert described["SerdeInfo"] == {
        "SerializationLibrary": "org.openx.data.jsonserde.JsonSerDe",
        # Attributes that differ by case only are two; else the whole row would be refused.
        "Parameters": {"case.insensitive": "FALSE", "ignore.malformed.json": "TRUE"},
    }
    assert described["Compressed"] is True
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


def test_every_day_is_projected_up_to_tomorrow(any_stage: Synthesis) -> None:
    described = parameters(any_stage)
    assert described["projection.dt.type"] == "date"
    assert described["projection.dt.format"] == "yyyy-MM-dd"
    assert (described["projection.dt.interval"], described["projection.dt.interval.unit"]) == (
        "1",
        "DAYS",
    )
    first, last = described["projection.dt.range"].split(",")
    assert dt.date.fromisoformat(first) <= dt.date(2026, 11, 1)
    assert last == "NOW+1DAY"


def test_a_day_is_selected_as_the_projection_writes_it() -> None:
    (record,) = build_expired_batch(1).records
    chain = Chain.from_key(record)
    since = dt.datetime.combine(chain.day, dt.time(), dt.UTC)
    assert chain.day in Selection(since=since).days
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", chain.day.isoformat())


def test_answers_are_encrypted_and_go_where_they_expire(any_stage: Synthesis) -> None:
    found = configuration(any_stage)
    assert found["EnforceWorkGroupConfiguration"] is True
    answers = found["ResultConfiguration"]
    assert answers["EncryptionConfiguration"] == {"EncryptionOption": "SSE_S3"}
    assert answers["ExpectedBucketOwner"] == {"Ref": "AWS::AccountId"}
    joined = answers["OutputLocation"]["Fn::Join"][1]
    assert joined == ["s3://", {"Ref": any_stage.bucket_id("Results")}, "/answers/"]


def test_answers_are_encrypted_with_a_key_of_ones_own(tmp_path: Path) -> None:
    stage = synthesise("prod", tmp_path, customer_managed_key=True)
    (key,) = stage.resources("KMS::Key")
    assert configuration(stage)["ResultConfiguration"]["EncryptionConfiguration"] == {
        "EncryptionOption": "SSE_KMS",
        "KmsKey": {"Fn::GetAtt": [key, "Arn"]},
    }


def test_a_query_that_would_read_too_much_is_ended(dev: Synthesis, prod: Synthesis) -> None:
    limits = [configuration(each)["BytesScannedCutoffPerQuery"] for each in (dev, prod)]
    assert limits == [10_000_000_000, 100_000_000_000]


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
    """Run a saved query over an archive's rows, in DuckDB."""
    (saved,) = (each for each in QUERIES if each.id == id)
    sql = saved.sql
    for value in values:
        sql = sql.replace("?", render_literal(value), 1)
    with open_engine(kept.rows(), sql) as answer:
        return [tuple(row) for row in answer.rows]


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


def test_the_outputs_say_where_to_ask(any_stage: Synthesis) -> None:
    outputs = any_stage.template["Outputs"]
    (database,) = any_stage.resources("Glue::Database")
    (workgroup,) = any_stage.resources("Athena::WorkGroup")
    assert outputs["ArchiveDatabaseName"]["Value"] == {"Ref": database}
    assert outputs["ArchiveTableName"]["Value"] == table(any_stage)["Name"]
    assert outputs["ArchiveWorkgroupName"]["Value"] == {"Ref": workgroup}
