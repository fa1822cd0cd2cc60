"""`daicho generation` in a project: what it prints, what it writes, and what it refuses."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from daicho_cli.main import app

PACKAGE = "changing_things"
PRODUCT = """
from typing import Literal

from daicho import Domain, Entity, Key, Search, field, uid

class Product(Entity):
    id: str = uid()
    name: str = field()
    maker: str = field()
    state: Literal["new", "old"] = "new"
    key = Key(id)
    search = Search(name)

domain = Domain("product", Product)
domain.resource("/products/{id}", Product, "PUT GET")
"""
OF_MAKER = PRODUCT.replace("Search(name)", "Search(name, maker)")
Declare = Callable[[str], None]


def forget_modules() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


@pytest.fixture
def declare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Declare]:
    """Writes the only domain file of the project in the working folder."""
    (tmp_path / "pyproject.toml").write_text(
        f'[tool.daicho]\nname = "Shop"\ndomains = "{PACKAGE}"\n', "utf-8"
    )
    package = tmp_path / PACKAGE
    package.mkdir()
    (package / "__init__.py").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # it is valid for a second at least

    def write(text: str) -> None:
        forget_modules()
        (package / "product.py").write_text(text, "utf-8")

    write(PRODUCT)
    yield write
    forget_modules()


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["generation", *arguments])


def read_lock_file() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(Path("generations.json").read_text("utf-8"))
    return content


def test_a_change_is_written_with_its_effect(declare: Declare) -> None:
    assert run().stdout == "generations: Product 1\n"
    assert run("--check").exit_code == 0
    declare(OF_MAKER)
    assert run("--check").exit_code == 1
    assert run().stdout.splitlines() == [
        "Product.search changes: @1 retires, and answers until @2 is complete",
        "generations: Product 2",
    ]
    assert len(read_lock_file()["entities"]["Product"]) == 2


def test_a_misspelt_decision_changes_nothing(declare: Declare) -> None:
    run()
    declare(OF_MAKER)
    run()
    written = read_lock_file()
    for option in ("--disable", "--supersede", "--recount"):
        result = run(option, "Product.serch")
        assert result.exit_code == 1
        assert "Product.serch" in result.stderr
    assert "Those that have one: Product.search" in run("--disable", "Product.serch").stderr
    assert read_lock_file() == written
    assert run("--disable", "Product.search").stdout.splitlines() == [
        "Product.search ends as @1, which retired: its rows and totals are purged after the "
        "deployment",
        "generations: Product 3",
    ]


def test_a_decision_of_code_that_was_rolled_back_is_refused(declare: Declare) -> None:
    run()
    declare(OF_MAKER)
    run()
    declare(PRODUCT)
    assert "like code that was rolled back" in run().stdout
    result = run("--disable", "Product.search")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "nothing can be decided, because the declarations of Product" in result.stderr
    assert run("--revert", "Product").stdout.splitlines()[-1] == "generations: Product 3"


def test_a_narrower_literal_is_refused_but_not_missed_in_an_older_lock_file(
    declare: Declare,
) -> None:
    run()
    written = read_lock_file()
    assert written["literals"] == {"Product": {"state": ["new", "old"]}}
    declare(PRODUCT.replace('["new", "old"]', '["new"]'))
    assert "Product.state no longer takes 'old'" in run().stderr
    del written["literals"]
    Path("generations.json").write_text(json.dumps(written), "utf-8")
    declare(PRODUCT)
    assert run("--check").exit_code == 0
    assert run().stdout == "no declaration changed\n"
    assert read_lock_file()["literals"] == {"Product": {"state": ["new", "old"]}}
    declare(PRODUCT.replace('["new", "old"]', '["old", "new"]'))
    assert run("--check").exit_code == 0
    declare(PRODUCT.replace('["new", "old"]', '["new", "old", "used"]'))
    assert "not up to date" in run("--check").stderr
