"""``daicho archive`` over Dynoxide and a versioned bucket of moto's."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest
from typer.testing import CliRunner

from daicho.archive import forgetter
from daicho.declare.domain import Domain
from daicho.declare.registry import Daicho
from daicho_cli.archive.session import ArchiveSession, MeteredBucket
from daicho_cli.aws import Stack
from daicho_cli.main import app
from tests.support.archive_deployment import LEDGER, Deployed, Entry, write


def run(*arguments: str) -> tuple[int, Any]:
    result = CliRunner().invoke(app, ["archive", *arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, json.loads(result.stdout)


def test_an_items_whole_way_by_command(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    stack = Stack("the local stack", {}, endpoint="here")
    opened = ArchiveSession(
        stack,
        LEDGER,
        deployed.table,
        deployed.bucket,
        deployed.bucket,  # of the failure bucket nothing is asked that the archive's cannot answer
        MeteredBucket(deployed.bucket),
        lambda: Daicho(Domain("test", Entry)),
    )
    monkeypatch.setattr(ArchiveSession, "find", lambda *_: opened)
    write(deployed)
    deployed.now += dt.timedelta(days=8)
    deployed.expire()
    day = deployed.now.date().isoformat()
    period = ("--since", day, "--until", day)
    deployed.now -= dt.timedelta(days=8)  # the commands live today

    code, rows = run("query", "-o", "json", "--tenant", "one", *period)
    assert (code, [row["item"]["text"] for row in rows]) == (0, [f"note {n}" for n in range(5)])
    code, rows = run(
        *("query", "-o", "json", "--entity", "Entry", "--tenant", "one", "--key", "id=3")
    )
    assert [row["pk"] for row in rows] == ["one#Entry#3"]
    code, told = run("verify", "--json", *period)
    assert (code, told["counts"]["rows"], told["counts"]["deletions"]) == (0, 9, 9)

    # One is written anew meanwhile: it is left alone.
    deployed.book().create(Entry(id="3", text="anew", kind="a"))
    code, told = run("restore", "--json", "--tenant", "one", "--apply", *period)
    assert (code, told["restored"], told["newer"]) == (1, 4, 1)
    deployed.settle()
    assert sorted(deployed.texts()) == ["anew", *(f"note {n}" for n in (0, 1, 2, 4))]
    code, told = run("restore", "--json", "--tenant", "one", "--apply", "--over-newer", *period)
    assert (code, told["restored"], told["replaced"], told["already"]) == (0, 1, 1, 4)
    deployed.settle()
    assert deployed.texts() == [f"note {n}" for n in (4, 3, 2, 1, 0)]
    assert list(tmp_path.iterdir()) == []

    monkeypatch.setattr(forgetter, "REWRITE_GRACE", dt.timedelta(0))
    code, told = run("forget", "--json", "--tenant", "one", "--apply")
    assert (told["rows"], told["younger"], told["broken"]) == (5, 0, {})
    assert run("query", "-o", "json", "--tenant", "one") == (0, [])
    assert run("verify", "--json", *period)[0] == 0
    assert len(run("query", "-o", "json")[1]) == 4
