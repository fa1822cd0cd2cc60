"""`daicho load` of items with unique values: what is taken is refused by its line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient
from typer.testing import CliRunner

from daicho.plan.lockfile import write_lock_file
from daicho_cli.load.loader import read_rejected
from daicho_cli.main import app
from tests.support.account_domains.accounts import Account
from tests.support.repository import ROOT
from tests.support.unique_accounts import DOMAIN_PACKAGE, LEDGER, Accounts

Run = Callable[..., Any]


@pytest.fixture
def accounts(dynamodb: DynamoDBClient, table_name: str) -> Accounts:
    return Accounts(dynamodb, table_name)


@pytest.fixture
def load(dynamo: str, table_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Load rows into this test's table, by a project whose domains have unique values."""
    configuration = f'[tool.daicho]\nname = "A"\nsource = "{ROOT}"\ndomains = "{DOMAIN_PACKAGE}"\n'
    (tmp_path / "pyproject.toml").write_text(configuration, "utf-8")
    write_lock_file(LEDGER, tmp_path / "generations.json")
    monkeypatch.chdir(tmp_path)

    def run(rows: list[dict[str, Any]], *more: str) -> Any:
        file = tmp_path / "rows.ndjson"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        where = ["--tenant", "one", "--table", table_name, "--endpoint", dynamo]
        return CliRunner().invoke(app, ["load", "Account", str(file), *where, *more])

    return run


def test_rows_with_a_value_that_is_taken_are_refused(
    load: Run, accounts: Accounts, tmp_path: Path
) -> None:
    accounts.book().create(Account(id="there", email="there@x"))
    rows = [{"id": str(number), "email": f"{number}@x"} for number in range(60)]
    rows += [{"id": "twin", "email": "7@X"}, {"id": "late", "email": "THERE@x"}]
    rows += [{"id": "long", "handle": "x" * 3000}]
    result = load(rows)
    assert result.exit_code == 3, result.output
    assert "60 items loaded, 3 rejected" in result.output
    assert "line 61: email: another Account has this value of email" in result.output
    rejected = {
        each["line"]: each["error"]["field"]
        for each in read_rejected(tmp_path / "rows.ndjson.rejected.ndjson")
    }
    assert rejected == {61: "email", 62: "email", 63: "handle"}
    assert accounts.check().items == 61
