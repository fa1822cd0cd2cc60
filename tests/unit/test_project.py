"""A project's configuration, its declarations and its lock file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from daicho.cdk.functions.assets import copy_code
from daicho.errors import DeclarationError, ProjectError
from daicho.plan import Ledger
from daicho.project import FUNCTIONS, Project

ENTITY = """
from daicho import Domain, Entity, Key, field

class {name}(Entity):
    id: str = field()
    key = Key(id)

domain = Domain("{lower}", {name})
domain.resource("/{lower}/{{id}}", {name}, "PUT GET")
"""
MIGRATION = """
from daicho import migration


@migration("Product", writes=["label"])
def write_label(product):
    return {"label": product["id"].upper()}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A project with one entity, in packages of names that no other test imports."""
    (tmp_path / "pyproject.toml").write_text(
        '[tool.daicho]\nname = "Shop"\ndomains = "shop_things.declared"\n'
    )
    package = tmp_path / "shop_things/declared"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "product.py").write_text(ENTITY.format(name="Product", lower="product"))
    path = list(sys.path)
    yield tmp_path
    sys.path[:] = path
    for name in [name for name in sys.modules if name.startswith("shop_")]:
        del sys.modules[name]


def configure(folder: Path, text: str) -> Path:
    (folder / "pyproject.toml").write_text(f"[tool.daicho]\n{text}\n")
    return folder


def test_it_is_found_from_a_folder_below(folder: Path) -> None:
    project = Project.find(folder / "shop_things/declared")
    assert project.root == project.source == folder
    assert (project.name, project.domains) == ("Shop", "shop_things.declared")
    assert project.lock_file == folder / "generations.json"
    assert (project.handlers, project.packages) == ("daicho.handlers", ("shop_things",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "name must be 1 to 32 letters and digits, the first a capital"),
        ('name = "my shop"', "name must be"),
        ('name = "A"\ncolour = "red"', "colour is no setting"),
        ('name = "A"\nlock_file = 3', "lock_file is no text"),
        ('name = "A"\ndomains = "a-b"', "domains is 'a-b', no name of a package"),
    ],
)
def test_a_wrong_configuration_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ProjectError, match=message) as raised:
        Project.find(configure(tmp_path, text))
    assert str(tmp_path / "pyproject.toml") in str(raised.value)


def test_a_folder_without_a_project_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="no Daicho project"):
        Project.find(tmp_path)


def test_a_package_of_migrations_is_found_and_deployed(folder: Path) -> None:
    configure(folder, 'name = "Shop"\ndomains = "shop_things.declared"\nmigrations = "shop_moves"')
    assert Project.find(folder).migration_settings == {}
    assert Project.find(folder).load_migrations() == {}
    project = Project.find(folder)
    project.lock_file.write_text(
        json.dumps(project.discover().append_generations(Ledger()).to_json())
    )
    product = folder / "shop_things/declared/product.py"
    text = product.read_text().replace("    key =", "    label: str\n    key =")
    for name in [name for name in sys.modules if name.startswith("shop_things")]:
        del sys.modules[name]
    product.write_text(text)
    (folder / "shop_moves").mkdir()
    (folder / "shop_moves/__init__.py").touch()
    (folder / "shop_moves/products.py").write_text(MIGRATION)
    project = Project.find(folder)
    assert project.packages == ("shop_things", "shop_moves")
    assert project.migration_settings == {"MIGRATION_PACKAGE": "shop_moves"}
    assert [*project.load_migrations()] == ["Product.write_label"]
    ledger = project.discover().append_generations(project.load_ledger())
    project.lock_file.write_text(json.dumps(ledger.to_json()))
    assert list(project.check().functions) == ["Product.write_label"]
    code = folder / "code"
    code.mkdir()
    copy_code(project, code)
    assert (code / "shop_moves/products.py").read_text() == MIGRATION
    (folder / "shop_moves/products.py").write_text("")
    del sys.modules["shop_moves.products"]
    with pytest.raises(
        DeclarationError, match=r"Product\.write_label is a migration of generation 2"
    ):
        project.check()


def test_a_missing_package_is_named(tmp_path: Path) -> None:
    project = Project.find(configure(tmp_path, 'name = "A"\ndomains = "no_such_package"'))
    with pytest.raises(ProjectError, match="has no package no_such_package"):
        project.discover()


def test_it_is_checked_against_its_lock_file(folder: Path) -> None:
    project = Project.find(folder)
    with pytest.raises(DeclarationError, match="Product changed without a new generation"):
        project.check()
    ledger = project.discover().append_generations(project.load_ledger())
    assert ledger.project == "Shop"
    project.lock_file.write_text(json.dumps(ledger.to_json()))
    assert project.check() == ledger


def test_a_package_of_handlers_has_all_functions(folder: Path) -> None:
    configure(folder, 'name = "Shop"\ndomains = "shop_things.declared"\nhandlers = "own"')
    project = Project.find(folder)
    ledger = project.discover().append_generations(project.load_ledger())
    project.lock_file.write_text(json.dumps(ledger.to_json()))
    (folder / "own").mkdir()
    for name in FUNCTIONS[1:]:
        (folder / f"own/{name}.py").touch()
    with pytest.raises(ProjectError, match=r"own lacks a module for: api$"):
        project.check()
    (folder / "own/api.py").touch()
    assert project.check() == ledger


def test_further_packages_and_an_import_that_lacks_one(folder: Path) -> None:
    settings = folder / "pyproject.toml"
    named = '[tool.daicho]\nrequirements = "more.txt"'
    settings.write_text(settings.read_text("utf-8").replace("[tool.daicho]", named), "utf-8")
    with pytest.raises(ProjectError, match=r"more\.txt is missing, which the setting requirements"):
        Project.find(folder)
    (folder / "more.txt").touch()
    project = Project.find(folder)
    assert project.requirements == folder / "more.txt"
    (project.locate(project.domains) / "mail.py").write_text("import no_such_package\n", "utf-8")
    with pytest.raises(DeclarationError, match=r"mail cannot be imported: .*; name the package in"):
        project.discover()


def test_the_lock_file_of_another_project_is_refused(folder: Path) -> None:
    project = Project.find(folder)
    project.lock_file.write_text(json.dumps(Ledger(project="Bank").to_json()))
    with pytest.raises(ProjectError, match="belongs to the project Bank, and this is Shop"):
        project.check()
