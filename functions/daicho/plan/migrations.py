"""Field migrations: functions that compute fields of items of older generations.

A project has them in a package next to its domains. Functions that rebuild items load that package
too, so a file of it imports neither the domains nor Pydantic::

    @migration("User", writes=("given_name", "family_name"))
    def split_name(user: Mapping[str, Any]) -> Mapping[str, Any]:
        given, _, family = user["name"].rpartition(" ")
        return {"given_name": given, "family_name": family}

The lock file records which generation introduced a migration (``since``). It applies to items of
earlier generations only.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from daicho.errors import DeclarationError
from daicho.plan.model import EntityPlan, MigrationPlan
from daicho.runtime.frozen_dataclasses import dataclass

FieldValues = Mapping[str, Any]


@dataclass(frozen=True)
class Migration:
    """A migration of the items of one entity: call it with the values of an item.

    It must be pure: its result depends on the values alone, and applied to an item that it has
    changed it changes nothing more. Numbers are int or Decimal, days and instants are text. A value
    of None removes the field; a field that the result lacks stays as it is.
    """

    entity: str
    name: str
    fields: tuple[str, ...]
    function: Callable[[FieldValues], FieldValues]

    def __call__(self, values: FieldValues) -> FieldValues:
        """The new values of some of `fields`."""
        return self.function(values)

    @property
    def id(self) -> str:
        """``User.split_name``."""
        return f"{self.entity}.{self.name}"


def migration(
    entity: str, *, writes: Sequence[str]
) -> Callable[[Callable[[FieldValues], FieldValues]], Migration]:
    """Declare a function as a migration, under its own name.

    Args:
        entity: the name of the entity whose items it migrates.
        writes: the fields whose values it returns.

    Raises:
        DeclarationError: ``writes`` names no field.
    """

    def declare(function: Callable[[FieldValues], FieldValues]) -> Migration:
        name = function.__name__
        if isinstance(writes, str) or not writes:
            raise DeclarationError(f"{entity}.{name} writes no fields: writes=('field',)")
        return Migration(entity, name, tuple(dict.fromkeys(writes)), function)

    return declare


def load_migrations(package: str) -> dict[str, Migration]:
    """The migrations in all modules of a package, by id; none if no package is named.

    Raises:
        ModuleNotFoundError: the package does not exist.
        DeclarationError: two migrations of an entity have one name.
    """
    found: dict[str, Migration] = {}
    modules = []
    if package:
        root = importlib.import_module(package)
        modules.append(root)
        infos = sorted(pkgutil.iter_modules(root.__path__), key=lambda info: info.name)
        modules += [importlib.import_module(f"{package}.{info.name}") for info in infos]
    for module in modules:
        for each in vars(module).values():
            if not isinstance(each, Migration):
                continue
            if found.setdefault(each.id, each) is not each:
                raise DeclarationError(
                    f"two migrations are called {each.id}; rename one of the two functions"
                )
    return found


def add_migrations(plan: EntityPlan, migrations: Iterable[Migration]) -> EntityPlan:
    """A compiled entity with its migrations, which are not numbered."""
    own = sorted((each for each in migrations if each.entity == plan.name), key=lambda m: m.name)
    return replace(plan, migrations=tuple(MigrationPlan(m.name, 0, m.fields) for m in own))


def number_migrations(
    plan: EntityPlan, before: EntityPlan | None, number: int, stored: Collection[str]
) -> EntityPlan:
    """Number the migrations of a new generation; those of the one before it are as they were.

    ``stored``: the names of all fields that were ever declared before.
    """
    known = {} if before is None else {(m.name, m.fields): m for m in before.migrations}
    numbered = []
    for each in plan.migrations:
        added = tuple(name for name in each.fields if name not in stored)
        new = replace(each, since=number, added=added)
        numbered.append(known.get((each.name, each.fields), new))
    return replace(plan, migrations=tuple(numbered))


def list_new_migrations(plan: EntityPlan, before: EntityPlan) -> list[MigrationPlan]:
    """The migrations of a plan that the generation before it lacks."""
    known = {(each.name, each.fields) for each in before.migrations}
    return [each for each in plan.migrations if (each.name, each.fields) not in known]


def check_migrations(
    plan: EntityPlan, generations: Sequence[EntityPlan], declared: Iterable[str] | None
) -> None:
    """Check that code of earlier generations reads its fields after new migrations as before.

    Args:
        plan: the compiled entity, not numbered.
        generations: the plans of all generations so far.
        declared: the names of the declared fields, if they are known.

    Raises:
        DeclarationError: a migration writes a field that is not declared, or from which an earlier
            generation derives something; or two of them write one field.
    """
    names = None if declared is None else set(declared)
    writers: dict[str, str] = {}
    for each in list_new_migrations(plan, generations[-1]):
        for name in each.fields:
            migrated = f"{plan.name}.{each.name}"
            if names is not None and name not in names:
                raise DeclarationError(
                    f"{migrated} writes {name}, which is no field; "
                    "declare the field, or remove it from writes="
                )
            if name in writers:
                raise DeclarationError(
                    f"{migrated} and {plan.name}.{writers[name]} both write {name} in one "
                    "generation; let one function write it"
                )
            writers[name] = each.name
            if any(name in generation.fields for generation in generations):
                raise DeclarationError(
                    f"{migrated} writes {name}, from which an earlier generation derives lists, "
                    "figures or keys: they would change with every touch. Declare another field "
                    f"and let {each.name} write that"
                )


def check_kept(plan: EntityPlan, before: EntityPlan, ended: Iterable[str]) -> None:
    """Check that no migration was lost, and that what is to end has ended.

    ``ended``: the names of migrations that the developer decided to end.

    Raises:
        DeclarationError: the code lacks the function of a recorded migration.
    """
    names, ended_names = {each.name for each in plan.migrations}, set(ended)
    for each in before.migrations:
        name = f"{plan.name}.{each.name}"
        if each.name in names and each.name in ended_names:
            raise DeclarationError(f"{name} is declared still: remove its function, then end it")
        if each.name not in names and each.name not in ended_names:
            raise DeclarationError(explain_lost(plan.name, each))


def find_lost(
    plan: EntityPlan, newest: EntityPlan, declared: Collection[str] | None = None
) -> str | None:
    """Why code does not fit a generation: it lacks a migration. None if it has all of them.

    ``declared``: its fields. Code of an earlier generation may lack a migration if it does not
    declare the fields that this one adds; by default the fields do not matter.
    """
    names = {each.name for each in plan.migrations}
    for each in newest.migrations:
        is_needed = declared is None or not set(declared).isdisjoint(each.added)
        if each.name not in names and is_needed:
            return explain_lost(plan.name, each)
    return None


def list_ended(plan: EntityPlan, newest: EntityPlan, disabled: Iterable[str]) -> list[str]:
    """The migrations of a generation that the developer ends, by name."""
    names = {each.name for each in plan.migrations}
    decided = set(disabled)
    return [m.name for m in newest.migrations if m.name in decided and m.name not in names]


def explain_lost(entity: str, lost: MigrationPlan) -> str:
    """The message of the error that a recorded migration has no function."""
    name = f"{entity}.{lost.name}"
    return (
        f"{name} is a migration of generation {lost.since}, and its function is missing: items of "
        f"earlier generations lack {', '.join(lost.fields)}. Restore the function; or, if no stage "
        f"has such items, end the migration: daicho generation --disable {name}"
    )
