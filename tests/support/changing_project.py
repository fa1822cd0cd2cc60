"""A project whose declarations change; and many kinds of invoices, with one change of each kind."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from daicho.project import Project
from daicho_cli.init.command import create_project
from daicho_cli.local.programs import PROGRAMS as INSTALLED
from tests.support.commands import run_command
from tests.support.repository import PROGRAMS, ROOT
from tests.support.trials import IS_TRIAL

FIELDS = (
    "id: str = field(min_length=1)",
    "customer: str = field(min_length=1)",
    'status: Literal["open", "paid"] = field(default="open")',
    "country: str = field(min_length=1)",
    "amount: int = field(ge=0)",
)
LISTING = "by_status = Listing(status)"
SEARCH = 'search = Search(customer, param="q")'
FIGURE = 'revenue = Aggregate(Sum(amount), country, ranked=True, rolled_up="at once")'
DECLARATIONS = (LISTING, SEARCH, FIGURE)
FILE = '''"""Invoices."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from daicho import Aggregate, Count, Domain, Entity, Key, Listing, Search, Sum, field, one_of


class {name}(Entity):
    """An invoice."""

    {body}


domain = Domain("{path}", {name})
domain.resource("/{path}/{{id}}", {name}, "POST GET PATCH")
{mounts}
'''


def share_programs(folder: Path) -> None:
    """Let a new folder have the installed programs of this repository's local AWS."""
    folder.mkdir()
    for program in INSTALLED:
        (folder / program.name).symlink_to(PROGRAMS / program.name)
        (folder / f".{program.name}").symlink_to(PROGRAMS / f".{program.name}")


def replace_declaration(old: str, *new: str) -> tuple[str, ...]:
    """The declarations with another one, or without one."""
    return tuple(
        line for declared in DECLARATIONS for line in (new if declared == old else (declared,))
    )


@dataclass(frozen=True)
class Kind:
    """An entity, with its declarations and fields before and after its change."""

    name: str
    before: Sequence[str] = DECLARATIONS
    after: Sequence[str] = DECLARATIONS
    fields_after: Sequence[str] = FIELDS

    @property
    def path(self) -> str:
        """The beginning of its routes: ``search-field-added``."""
        return re.sub(r"(?<!^)(?=[A-Z])", "-", self.name).lower()

    def render(self, *, is_changed: bool) -> str:
        """Its domain file."""
        declarations = self.after if is_changed else self.before
        fields = self.fields_after if is_changed else FIELDS
        ranked = [line.partition(" ")[0] for line in declarations if "ranked" in line]
        return FILE.format(
            name=self.name,
            path=self.path,
            body="\n    ".join([*fields, "", "key = Key(id)", *declarations]),
            mounts="\n".join(
                f'domain.mount("/{self.path}-{name}", {self.name}.{name}.top)' for name in ranked
            ),
        )


CONDITION = ', where=one_of(status, "paid"))'
ALL_KINDS = (
    Kind("ListingAdded", after=(*DECLARATIONS, "by_country = Listing(country)")),
    Kind(
        "FigureAdded",
        after=(
            *DECLARATIONS,
            "buyers = Aggregate(Count(), customer, ranked=True, rolled_up='at once')",
        ),
    ),
    Kind("SearchFieldAdded", after=replace_declaration(SEARCH, SEARCH.replace(",", ", country,"))),
    Kind("ShardsRaised", after=replace_declaration(LISTING, LISTING.replace(")", ", shards=4)"))),
    Kind("TypeChanged", fields_after=(*FIELDS[:4], "amount: Decimal = field(ge=0)")),
    Kind("FieldAdded", fields_after=(*FIELDS, 'note: str = field(default="none")')),
    Kind("ConditionChanged", after=replace_declaration(FIGURE, FIGURE[:-1] + CONDITION)),
    Kind("GroupChanged", after=replace_declaration(FIGURE, FIGURE.replace("country", "customer"))),
    Kind("ListingRemoved", after=replace_declaration(LISTING)),
    Kind("BeginsToDerive", before=()),
    Kind("Unchanged"),
)
IN_SHORT = frozenset(
    {
        "ListingAdded",
        "FigureAdded",
        "GroupChanged",
        "ListingRemoved",
        "FieldAdded",
        "BeginsToDerive",
    }
)
"""One kind of each way to answer: refused meanwhile, by the old instance, without a route."""
KINDS = tuple(kind for kind in ALL_KINDS if IS_TRIAL or kind.name in IN_SHORT)
"""The kinds of the deployed stack: all of them in a trial."""
REVERTED = ("SearchFieldAdded", "ShardsRaised", "ConditionChanged", "GroupChanged")
"""The kinds whose change is undone."""


def render_kinds(changed: Collection[str] = ()) -> dict[str, str]:
    """The domain files of all kinds by name; ``changed``: the kinds that are changed."""
    return {
        f"{kind.path.replace('-', '_')}.py": kind.render(is_changed=kind.name in changed)
        for kind in KINDS
    }


@dataclass(frozen=True)
class ChangingProject:
    """A project in a folder, which uses the programs of this repository."""

    folder: Path

    @classmethod
    def create(cls, folder: Path, domains: Mapping[str, str]) -> ChangingProject:
        """Make a project with these domain files: their texts by name."""
        create_project("invoices", folder)
        (folder / "domains/products.py").unlink()
        (folder / ".venv").symlink_to(ROOT / ".venv")
        share_programs(folder / ".local")
        project = cls(folder)
        project.write_domains(domains)
        project.run("generation", "--unreleased")
        return project

    @property
    def project(self) -> Project:
        """The project as the library finds it."""
        return Project.find(self.folder)

    @property
    def lock_file(self) -> Path:
        """The generations."""
        return self.folder / "generations.json"

    def write_domains(self, domains: Mapping[str, str]) -> None:
        """Write domain files: their texts by name."""
        for name, text in domains.items():
            (self.folder / "domains" / name).write_text(text, "utf-8")

    def write_migration(self, name: str, text: str) -> None:
        """Write a module of field migrations."""
        folder = self.folder / "migrations"
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").touch()
        (folder / name).write_text(text, "utf-8")

    def run(self, *arguments: str, statuses: Collection[int] = (0,)) -> str:
        """Run a command of ``daicho``; its output. ``statuses``: with which it may end."""
        return run_command(
            *(sys.executable, "-m", "daicho_cli"),
            *arguments,
            folder=self.folder,
            variables={**os.environ, "COLUMNS": "200"},  # so that no cell of a table is wrapped
            statuses=statuses,
        )
