"""A project: its name, and where its declarations and their lock file are.

A project states them in the table ``[tool.daicho]`` of its ``pyproject.toml``. All but the name
have defaults::

    [tool.daicho]
    name = "Shop"                    # the stacks are Shop-dev and Shop-prod
    source = "."                     # the folder with the packages below
    domains = "domains"              # the package of the domain files
    migrations = "migrations"        # the package of field migrations, which need not exist
    lock_file = "generations.json"   # the generations of the declarations
    handlers = "daicho.handlers"     # the package with a module for each function
    sample_data = ""                 # a module with data for the local stack
    requirements = ""                # a file with further packages of the functions, with hashes
"""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from daicho.errors import ProjectError
from daicho.plan import LOCK_FILE_NAME, Ledger, Migration, load_migrations
from daicho.plan.events import list_receivers
from daicho.runtime.frozen_dataclasses import dataclass

if TYPE_CHECKING:
    from daicho.declare.registry import Daicho
    from daicho.declare.subscribers import Subscriber

CONFIGURATION = "pyproject.toml"
NAME = re.compile(r"[A-Z][A-Za-z0-9]{0,31}")
"""The name begins names of stacks, alarms and log groups, which have lengths of their own."""
PACKAGE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
HANDLERS = "daicho.handlers"
FUNCTIONS = (
    *("api", "project", "archive", "rollup", "redrive"),
    *("sweep", "jobs", "ops", "audit", "forget", "release", "tokens", "publish", "subscribe"),
)
"""The Lambda functions: a package of handlers has a module for each."""


@dataclass(frozen=True)
class Project:
    """One project. Paths are absolute.

    ``source``: the folder with the package of domains. ``handlers``: the package with a module for
    each function, `daicho.handlers` unless the project wraps the functions. ``sample_data``: a
    module with data for the local stack; empty for none. ``migrations``: the package of field
    migrations. ``requirements``: a file of further packages for the functions, as ``uv pip compile
    --generate-hashes`` writes it; None for none.
    """

    name: str
    root: Path
    source: Path
    domains: str
    lock_file: Path
    handlers: str = HANDLERS
    sample_data: str = ""
    migrations: str = "migrations"
    requirements: Path | None = None

    @classmethod
    def find(cls, folder: Path) -> Project:
        """The project of a folder or of the nearest folder above that has one.

        Raises:
            ProjectError: there is none, or its configuration is wrong.
        """
        start = folder.absolute()
        for candidate in (start, *start.parents):
            configuration = _read_configuration(candidate / CONFIGURATION)
            if configuration is not None:
                return cls._parse(candidate, configuration)
        raise ProjectError(
            f"no Daicho project is in {start} or above: go into its folder, or make one by "
            "daicho init NAME"
        )

    @classmethod
    def _parse(cls, root: Path, configuration: Mapping[str, Any]) -> Project:
        defaults = {"source": ".", "domains": "domains", "lock_file": LOCK_FILE_NAME}
        values: dict[str, Any] = {**defaults, **configuration}
        settings = {each.name for each in fields(cls)} - {"root"}
        wrong = [f"{name} is no setting" for name in values.keys() - settings]
        wrong += [f"{name} is no text" for name, v in values.items() if not isinstance(v, str)]
        if not wrong:
            if not NAME.fullmatch(values.get("name", "")):
                wrong.append("name must be 1 to 32 letters and digits, the first a capital")
            wrong += [
                f"{name} is {values[name]!r}, no name of a package"
                for name in ("domains", "handlers", "migrations")
                if name in values and not PACKAGE.fullmatch(values[name])
            ]
        if wrong:
            file = root / CONFIGURATION
            raise ProjectError(f"[tool.daicho] in {file}: {'; '.join(sorted(wrong))}")
        names = [name for name in ("source", "lock_file", "requirements") if values.get(name)]
        paths = {name: root / values[name] for name in names}
        if "requirements" in paths and not paths["requirements"].is_file():
            missing = paths["requirements"]
            raise ProjectError(f"{missing} is missing, which the setting requirements names")
        return cls(root=root, **{**values, "requirements": None, **paths})

    @cached_property
    def packages(self) -> tuple[str, ...]:
        """The packages of the project that its functions load, by their outermost names."""
        names = [self.domains, self.handlers]
        names += [self.migrations] if self.has_migrations else []
        outermost = dict.fromkeys(name.partition(".")[0] for name in names)
        return tuple(name for name in outermost if name != "daicho")

    @property
    def has_migrations(self) -> bool:
        """Whether the package of field migrations exists."""
        return (self.locate(self.migrations) / "__init__.py").exists()

    @property
    def migration_settings(self) -> Mapping[str, str]:
        """The environment variable that names the package of field migrations, if it exists."""
        return {"MIGRATION_PACKAGE": self.migrations} if self.has_migrations else {}

    def locate(self, package: str) -> Path:
        """The folder of one of the project's packages."""
        return self.source / package.replace(".", "/")

    def discover(self) -> Daicho:
        """Import the domain files, and compile what they declare.

        Raises:
            ProjectError: the package of domains does not exist.
            DeclarationError: a declaration is wrong, or a file declares no domain.
        """
        from daicho.declare.registry import Daicho  # noqa: PLC0415  # it loads Pydantic

        self._make_importable(self.domains)
        try:
            package = importlib.import_module(self.domains)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{self.domains}.".startswith(f"{error.name}."):
                raise
            raise ProjectError(f"{self.source} has no package {self.domains}") from None
        if not hasattr(package, "__path__"):
            raise ProjectError(f"{self.domains} is a module: make it a package of domain files")
        self._make_importable(self.migrations)
        return Daicho.discover(package, self.migrations if self.has_migrations else "")

    def list_subscribers(self) -> Mapping[str, Subscriber]:
        """The subscribers of the domain files, by name.

        Raises:
            ProjectError, DeclarationError: see `discover`.
        """
        return self.discover().subscribers

    def load_migrations(self) -> Mapping[str, Migration]:
        """Import the field migrations; none if there is no package of them.

        Raises:
            DeclarationError: two migrations of an entity have one name.
        """
        if not self.has_migrations:
            return {}
        self._make_importable(self.migrations)
        return load_migrations(self.migrations)

    def _make_importable(self, package: str) -> None:
        """Let the name of a package mean this project's, even if another project's is loaded."""
        outermost = package.partition(".")[0]
        loaded = sys.modules.get(outermost)
        if loaded is not None and not _is_below(loaded, self.source):
            for name in [name for name in sys.modules if f"{name}.".startswith(f"{outermost}.")]:
                del sys.modules[name]
        source = str(self.source)
        if sys.path[:1] != [source]:
            sys.path.insert(0, source)

    def load_ledger(self) -> Ledger:
        """The generations in the lock file; none if the file does not exist yet.

        Raises:
            ProjectError: the file belongs to another project.
        """
        if not self.lock_file.exists():
            return Ledger(project=self.name)
        ledger = Ledger.load(self.lock_file)
        if ledger.project not in ("", self.name):
            raise ProjectError(
                f"{self.lock_file} belongs to the project {ledger.project}, and this is "
                f"{self.name}: use this project's own lock file, or the name that it had"
            )
        return ledger

    def check(self) -> Ledger:
        """The generations, if declarations and routes can be deployed with them.

        Raises:
            ProjectError: see `discover` and `load_ledger`.
            DeclarationError: a declaration is wrong or changed without a new generation, or a
                route cannot be mounted.
        """
        from daicho.web.routes.builder import build_operations  # noqa: PLC0415  # it loads Pydantic

        daicho = self.discover()
        ledger = daicho.check_locked(self.load_ledger())
        daicho.check_events(ledger)
        for entity in daicho.entities:
            entity.model_.model_rebuild()  # a function does it when it reads or writes an item
        build_operations(daicho)
        self._check_handlers(list_receivers(ledger.events))
        return ledger

    def _check_handlers(self, receivers: Sequence[str]) -> None:
        if self.handlers == HANDLERS:
            return
        folder = self.locate(self.handlers)
        unused = [] if "" in receivers else ["publish"]
        unused += [] if any(receivers) else ["subscribe"]
        needed = [name for name in FUNCTIONS if name not in unused]
        missing = [name for name in needed if not (folder / f"{name}.py").exists()]
        if missing:
            raise ProjectError(f"{folder} lacks a module for: {', '.join(missing)}")


def _is_below(package: ModuleType, folder: Path) -> bool:
    return any(
        Path(path).resolve().parent == folder.resolve() for path in getattr(package, "__path__", ())
    )


def _read_configuration(file: Path) -> Mapping[str, Any] | None:
    """The table ``[tool.daicho]`` of a file; None if the file or the table does not exist."""
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ProjectError(f"{file} cannot be read: {error}") from error
    table = content.get("tool", {}).get("daicho")
    return table if isinstance(table, dict) else None
