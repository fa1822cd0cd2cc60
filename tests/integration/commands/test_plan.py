"""The command `daicho plan` on a table: what changes, what it costs, and what is refused."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import boto3
import pytest
from typer.testing import Result

from daicho.layout.backfill_state import RECORDED_KEY
from daicho.plan import Decisions
from daicho.plan.lockfile import write_lock_file
from daicho.storage.table import Table
from tests.support.planned_project import (
    ChangingProject,
    make_runner,
    record_release,
    render_module,
    write_users,
)

Run = Callable[..., Result]
FIRST = render_module("search = Search(name)", "newest = Listing()", "total = Aggregate(Count())")
SECOND = render_module(
    "search = Search(name, email)",
    "newest = Listing()",
    "by_country = Aggregate(Count(), country)",
    routes='domain.mount("/countries/{country}", User.by_country)\n',
)
ADA = {"name": "Ada", "email": "ada@example.com", "country": "uk"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ChangingProject:
    monkeypatch.setattr(sys, "path", [*sys.path])
    return ChangingProject(tmp_path)


@pytest.fixture
def run(dynamo: str, table_name: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    return make_runner("plan", dynamo, table_name, monkeypatch)


@pytest.fixture
def deployed(project: ChangingProject, table: Table) -> Path:
    """The first version, deployed, with 30 users; its folder."""
    root = project.write(FIRST)
    record_release(table, project.ledger)
    write_users(table, project.ledger, [ADA] * 30)
    return root


def test_before_the_first_deployment_everything_is_new(
    project: ChangingProject, run: Run, table_name: str
) -> None:
    root = project.write(FIRST)
    result = run(root, "--table", f"{table_name}-other")
    assert result.exit_code == 2
    assert result.stdout.splitlines()[:2] == [
        "There is no table yet: this is the first deployment.",
        "User  new, generation 1",
    ]
    assert "rebuild" not in result.stdout
    result = run(root)  # the table is empty
    assert result.exit_code == 2
    assert "User  new, generation 1" in result.stdout


def test_an_equal_checkout_changes_nothing(run: Run, deployed: Path) -> None:
    result = run(deployed)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "No entities change. Nothing is refused."
    result = run(deployed, "--scan")  # it reads nothing, so it does not ask
    assert result.exit_code == 0
    assert "not scanned" in result.stderr


@pytest.mark.usefixtures("deployed")
def test_a_change_is_listed_with_its_routes_and_its_price(
    project: ChangingProject, run: Run
) -> None:
    root = project.write(SECOND)
    result = run(root)
    assert result.exit_code == 2
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines[0] == "User generation 1 -> 2"
    assert [line[:12] for line in lines if line[:2] in ("+ ", "~ ", "- ")] == [
        "+ by_country",
        "~ search cha",
        "- total is r",
    ]
    assert "! until it is complete, GET /countries/{country} answers 503 being-built" in lines
    assert not any("/users" in line for line in lines if "being-built" in line)
    (rebuild,) = (line for line in lines if line.startswith("rebuild of"))
    assert rebuild.startswith("rebuild of by_country, search: 30 items: ~30 write units")
    assert lines[-1] == "1 entity changes. Nothing is refused."


@pytest.mark.usefixtures("deployed")
def test_a_program_reads_the_same(project: ChangingProject, run: Run) -> None:
    result = run(project.write(SECOND), "--json")
    assert result.exit_code == 2
    document = json.loads(result.stdout)
    assert (document["exit_code"], document["refusals"], document["recorded"]) == (2, [], True)
    (user,) = document["entities"]
    assert (user["entity"], user["before"], user["after"]) == ("User", 1, 2)
    assert {
        change["declaration"]: (change["effect"], change["being_built"], change["routes"])
        for change in user["changes"]
    } == {
        "by_country": ("added", True, ["GET /countries/{country}"]),
        "search": ("replaced", False, ["GET /users?q="]),
        "total": ("removed", False, []),
    }
    rebuild = user["rebuild"]
    assert (rebuild["declarations"], rebuild["items"]) == (["by_country", "search"], 30)
    assert (rebuild["basis"], rebuild["sampled"], rebuild["checked"]) == ("counted", 30, 30)
    assert rebuild["touch_units"] == 30
    # "ada" has the list of everything and 3 grams, "example.com" and "ada@…" some more.
    assert rebuild["row_units"] > 30 * 2 * 4
    assert 0 < rebuild["dollars"] < 0.01
    assert document["sample"]["whole"] is True


@pytest.mark.usefixtures("deployed")
def test_a_region_without_prices_has_those_of_the_default_one(
    project: ChangingProject, run: Run
) -> None:
    result = run(project.write(SECOND), "--region", "mars-north-1")
    assert result.exit_code == 2
    assert "Prices of us-east-1" in result.stdout
    assert "There are no prices of mars-north-1." in result.stdout


@pytest.mark.usefixtures("deployed")
def test_a_scan_is_confirmed_and_reads_all(project: ChangingProject, run: Run) -> None:
    root = project.write(SECOND)
    result = run(root, "--scan", input="n\n")
    assert result.exit_code == 1
    assert "A scan of the whole table: " in result.stderr
    assert "User" not in result.stdout
    for options, given in (["--scan"], "y\n"), (["--scan", "--yes", "--rate", "50"], ""):
        result = run(root, *options, "--json", input=given)
        assert result.exit_code == 2
        document = json.loads(result.stdout[result.stdout.index("{") :])  # the input is echoed
        assert document["entities"][0]["rebuild"]["items"] == 30
        # The users, the backfill item of the entity, and that of the table.
        assert document["sample"]["items"] == 32


@pytest.mark.usefixtures("deployed")
@pytest.mark.parametrize("options", [[], ["--scan", "--yes"]])
def test_an_item_that_passes_the_limits_with_one_side_only_is_named(
    project: ChangingProject, run: Run, table: Table, options: list[str]
) -> None:
    project.write(render_module("newest = Listing()", "tagged = Listing(each(tags))"))
    record_release(table, project.ledger)
    some = [{**ADA, "tags": {f"tag-{n}" for n in range(count)}} for count in (1, 150, 210, 390)]
    write_users(table, project.ledger, some)
    root = project.write(
        render_module("newest = Listing()", "tagged = Listing(each(tags), shards=4)")
    )
    result = run(root, *options, "--json")
    assert result.exit_code == 2
    (user,) = json.loads(result.stdout)["entities"]
    found = user["rebuild"]["over_limits_together"]
    assert found["items"] == 2
    ids = sorted(key["PK"].split("#")[2] for key in found["keys"])
    assert ids == [f"{n:026d}" for n in (2, 3)]
    assert user["rebuild"]["not_derivable"]["items"] == 0
    text = run(root, *options).stdout
    assert "2 of 30 items that were checked pass the limits" in text
    assert f"acme#User#{2:026d} -" in text
    assert "tag-7" not in text


@pytest.mark.usefixtures("deployed")
def test_an_item_that_cannot_be_derived_is_named(
    project: ChangingProject, run: Run, table: Table
) -> None:
    many = [{**ADA, "tags": {f"tag-{n}" for n in range(count)}} for count in (5, 401)]
    write_users(table, project.ledger, many)
    root = project.write(render_module("newest = Listing()", "tagged = Listing(each(tags))"))
    result = run(root)
    assert result.exit_code == 2
    assert "1 of 30 items that were checked cannot be derived by generation 2" in result.stdout
    assert f"acme#User#{1:026d} -" in result.stdout


def test_changes_of_the_api_are_listed_below_the_plan(
    project: ChangingProject, run: Run, deployed: Path
) -> None:
    root = project.write(SECOND)
    project.write_description(root, of=deployed)
    result = run(root)
    assert result.exit_code == 2
    assert "  breaking    GET /users/total is removed" in result.stdout
    document = json.loads(run(root, "--json").stdout)
    assert document["contract"]["breaking"] is True
    same = run(deployed, "--against", str(root / "docs/reference/openapi.json"))
    assert (same.exit_code, "The API" in same.stdout) == (0, False)


def test_a_breaking_change_alone_is_a_change(
    project: ChangingProject, run: Run, deployed: Path
) -> None:
    file = deployed.parent / "openapi.json"
    root = project.write(SECOND, generation=False)
    project.write_description(root, of=root)
    (root / "docs/reference/openapi.json").rename(file)
    result = run(deployed, "--against", str(file))
    assert result.exit_code == 2
    assert "  breaking    GET /countries/{country} is removed" in result.stdout
    assert "No entities change" in result.stdout


@pytest.mark.usefixtures("deployed")
def test_declarations_without_a_generation_are_refused(project: ChangingProject, run: Run) -> None:
    root = project.write(SECOND, generation=False)
    result = run(root)
    assert result.exit_code == 1
    assert result.stdout.startswith("refused: User.")
    assert "make generation" in result.stdout
    document = json.loads(run(root, "--json").stdout)
    assert (document["exit_code"], len(document["refusals"])) == (1, 1)


@pytest.mark.usefixtures("deployed")
def test_a_change_that_is_never_possible_is_refused_with_the_way_to_do_it(
    project: ChangingProject, run: Run
) -> None:
    root = project.write(render_module("search = Search(name)", key="name"), generation=False)
    result = run(root)
    assert result.exit_code == 1
    assert "refused: User.key changed" in result.stdout
    assert "declare another entity" in result.stdout


def test_a_stage_that_is_ahead_is_refused(
    project: ChangingProject, run: Run, table: Table, deployed: Path
) -> None:
    project.write(SECOND)
    record_release(table, project.ledger)
    result = run(deployed)
    assert result.exit_code == 1
    assert "refused: this checkout knows User generation 1" in result.stdout
    assert "rebuild of" not in result.stdout


def test_code_that_was_rolled_back_is_announced(
    project: ChangingProject, run: Run, table: Table, deployed: Path
) -> None:
    project.write(SECOND)
    record_release(table, project.ledger)
    write_lock_file(replace(project.ledger, project="Shop"), deployed / "generations.json")
    result = run(deployed)
    assert result.exit_code == 2
    assert "User  generation 2 -> 1" in result.stdout
    assert "rolled back" in result.stdout


def test_a_table_from_before_there_were_backfill_items_may_have_any_generation(
    project: ChangingProject, run: Run, table: Table
) -> None:
    project.write(FIRST)
    write_users(table, project.ledger, [ADA])
    root = project.write(SECOND)
    result = run(root)
    assert result.exit_code == 2
    assert "it is unknown which generations it has" in result.stdout
    assert "User  generation 1 -> 2" in result.stdout
    assert "GET /countries/{country} answers 503" in result.stdout
    assert table.get(RECORDED_KEY) is None  # it writes nothing


def test_an_instance_that_ends_too_early_is_refused(
    project: ChangingProject, run: Run, table: Table
) -> None:
    for shards in (1, 2):
        project.write(render_module(f"newest = Listing(shards={shards})"))
        record_release(table, project.ledger)
        write_users(table, project.ledger, [ADA])
    root = project.write(
        render_module("newest = Listing(shards=2)"),
        decisions=Decisions(disabled=frozenset({"User.newest"})),
    )
    result = run(root)
    assert result.exit_code == 1
    assert "refused: User.newest@1 ends in generation 3" in result.stdout
    assert "User  generation 2 -> 3" in result.stdout
    assert "rebuild of" not in result.stdout  # nothing is read for a deployment that is refused


def test_a_table_that_does_not_answer_is_one_line(
    project: ChangingProject, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = project.write(FIRST)
    result = run(root, "--endpoint", "http://127.0.0.1:9")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("plan could not run: ")
    assert len(result.stderr.splitlines()) == 1
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    result = run(root)
    assert result.exit_code == 1
    assert "Unable to locate credentials" in result.stderr
    assert len(result.stderr.splitlines()) == 1
