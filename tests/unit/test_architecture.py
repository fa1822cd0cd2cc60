"""The structure of the code: one order of packages, no import cycle, nothing large."""

from __future__ import annotations

import ast
import inspect
import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

import daicho
import daicho.testing
from tests.support.imports import (
    find_cycle,
    find_entry,
    find_violations,
    list_modules,
    read_imported_names,
    read_imports,
)

ROOT = Path(__file__).parents[2]
FUNCTIONS = ROOT / "functions"
CODE = (
    *("functions", "infra", "supply_chain", "daicho_cli"),
    *("demonstration", "tests", "bench", "examples"),
)

STREAM_SIDE = (
    *("errors", "runtime", "plan", "storage", "search", "layout", "derive", "tally"),
    *("jobs", "stream", "release", "redrive", "archive", "tenants", "rebuild", "verify"),
    *("restore", "recovery", "sweep"),
)
"""What the stream and scheduled functions load: neither Pydantic nor the resolver of events."""
ENTITY_SIDE = (
    *("declare", "items", "query", "write", "book"),
    *("web.schema", "web.http", "web.routes", "web.openapi", "web.console", "web", "operations"),
)
"""What the API, the commands and the domain files load besides."""
ORDER = tuple(f"daicho.{package}" for package in (*STREAM_SIDE, *ENTITY_SIDE))
ORDER = (
    *ORDER,
    "daicho.project",
    "daicho.handlers",
    "daicho.local",
    "daicho.cdk",
    "daicho",
    "daicho.testing",
)
ORDER = (*ORDER, "domains", "handlers")
"""Packages and modules, lowest first: each imports itself and those before it, and nothing else.

``daicho`` is the public names, which are loaded when they are asked for. ``daicho.testing`` runs
the handlers, so it is the last of the library: nothing else of it imports it.
"""
PURE = ("errors", "runtime", "plan", "search", "layout", "derive", "declare", "items")
"""Packages that do no input or output, and load nothing that does."""
HOMES_OF_THE_SDK = {"daicho.storage.sessions", "daicho.storage.sdk_data"}
AWS_SDK = ("boto3", "botocore", "aws_lambda_powertools")
NOT_ON_THE_STREAM_SIDE = (
    *("pydantic", "aws_lambda_powertools", "domains", "daicho.declare"),
    *("boto3", "s3transfer", "multiprocessing", "asyncio", "aws_xray_sdk", "phonenumbers"),
)
NOT_AT_THE_START_OF_THE_API = (
    *("daicho.web.api", "daicho.web.routes.builder", "aws_lambda_powertools.event_handler"),
    *("daicho.web.openapi.document", "daicho.write.item_writer", "daicho.query.page_reader"),
    *("boto3", "s3transfer", "aws_xray_sdk", "phonenumbers"),
)
"""What the API loads for the first request that needs it (ADR 0158)."""
ORACLE = "daicho.testing.oracle"
ORACLE_OF_THE_PROOF = "tests.simulator.oracle"
PLAIN_MODULES = f"{ORACLE}.rows."
"""Modules of the oracle that compute what items derive."""
UNDER_TEST = (
    *("daicho.derive", "daicho.search", "daicho.layout.item_keys"),
    *("daicho.storage.keys", "daicho.plan.calendar", "daicho.plan.parts"),
)
"""What derives rows and amounts in the library, and what renders their keys."""
ORACLE_TYPES = {"daicho.derive.contributions.Amount", "daicho.derive.derived_items.IndexRow"}
"""Results of the oracle: the only names that it takes from what derives."""
ORACLE_NAMES = ORACLE_TYPES | {
    *("daicho.layout.item_keys.build_base_key", "daicho.storage.keys"),
    *("daicho.plan.calendar.find_calendar", "daicho.plan.calendar.CalendarUnit"),
}
"""What modules of the oracle take that read the state of the table, and compute no row."""
FUNCTION_ENVIRON = {
    **dict.fromkeys(("TABLE_NAME", "FAILURE_BUCKET", "ARCHIVE_BUCKET", "OBJECT_BUCKET"), "x"),
    **dict.fromkeys(("JOB_MACHINE", "PROJECT_FUNCTION", "ARCHIVE_FUNCTION"), "x"),
    **dict.fromkeys(("AUDIT_FUNCTION", "STACK_NAME"), "x"),
    **dict.fromkeys(("DIRTY_SHARDS", "SETTLE_SECONDS", "SCAN_UNITS"), "1"),
    **dict.fromkeys(("EVENT_BUS", "DEAD_LETTER_QUEUE"), "x"),
    "AWS_DEFAULT_REGION": "us-east-1",
    "STAGE": "local",
}

MODULES = list_modules(FUNCTIONS)
HANDLERS = sorted(path.stem for path in (FUNCTIONS / "daicho/handlers").glob("[a-z]*.py"))
PUBLIC_PACKAGES = (
    (daicho, "python-api.md", r"^::: daicho\.(\w+)$"),
    (daicho.testing, "testing.md", r"^\| `(\w+)[`(]"),
)
"""The pages that list the public names of a package, and what a line with a name looks like."""
MAX_LINES = 600
MAX_PACKAGE_LINES = 3_000
MAX_PROTOCOLS = 22


def is_ours(module: str) -> bool:
    return module.partition(".")[0] in ("daicho", "domains", "handlers")


def test_every_import_follows_the_order_of_packages() -> None:
    imports = [each for each in read_imports(MODULES) if is_ours(each.imported)]
    assert len(imports) > 1_000
    assert [str(each) for each in find_violations(imports, ORDER)] == []


def test_no_modules_import_each_other() -> None:
    for folder, package in (
        (FUNCTIONS, ""),
        (ROOT, "infra"),
        (ROOT, "daicho_cli"),
    ):
        modules = list_modules(folder, package)
        assert find_cycle(each for each in read_imports(modules) if each.imported in modules) == []


def test_every_entry_of_the_order_exists() -> None:
    assert [entry for entry in ORDER if entry not in MODULES] == []


@pytest.mark.parametrize(
    ("file", "line", "violation"),
    [
        (
            "storage/keys.py",
            "from daicho.derive import derived_items",
            "daicho.derive.derived_items",
        ),
        ("sweep.py", "from daicho.declare.entity import Entity", "daicho.declare.entity"),
        (
            "web/http/shared_parameters.py",
            "from daicho.web.routes import crud",
            "daicho.web.routes.crud",
        ),
        ("plan/model.py", "def load():\n    import daicho.book.book", "daicho.book.book"),
        ("errors.py", "if TYPE_CHECKING:\n    from .tally import slots", "daicho.tally.slots"),
        ("tally/slots.py", "from daicho.handlers import api", "daicho.handlers.api"),
    ],
)
def test_an_import_against_the_order_is_found(
    file: str, line: str, violation: str, tmp_path: Path
) -> None:
    text, changed = (FUNCTIONS / "daicho" / file).read_text("utf-8"), tmp_path / "changed.py"
    changed.write_text(f"{text}\n{line}\n", "utf-8")
    module = f"daicho.{file.removesuffix('.py').replace('/', '.')}"
    modules = {**MODULES, module: changed}
    imports = [each for each in read_imports(modules) if is_ours(each.imported)]
    (found,) = find_violations(imports, ORDER)
    assert found.imported == violation


def test_a_cycle_within_a_package_is_found(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p/a.py").write_text("from p import b")
    (tmp_path / "p/b.py").write_text("def f():\n    from p.c import d")
    (tmp_path / "p/c.py").write_text("if TYPE_CHECKING:\n    import p.a")
    cycle = find_cycle(read_imports(list_modules(tmp_path, "p")))
    assert set(cycle) == {"p.a", "p.b", "p.c"}


def test_nothing_but_the_library_itself_is_imported_by_it() -> None:
    outside = set(CODE) - {"functions"}
    assert [str(i) for i in read_imports(MODULES) if i.imported.partition(".")[0] in outside] == []


def test_the_testing_package_imports_neither_domains_nor_constructs() -> None:
    testing = {name: path for name, path in MODULES.items() if name.startswith("daicho.testing")}
    assert len(testing) > 40
    imported = {f"{each.imported}." for each in read_imports(testing)}
    others = ("domains.", "tests.", "daicho.cdk.", "aws_cdk.")
    assert [name for name in imported if name.startswith(others)] == []


def test_the_testing_package_has_nothing_that_only_the_proof_needs() -> None:
    """The rest of the simulator is `tests.simulator`."""
    testing = list_modules(FUNCTIONS, "daicho.testing")
    imported: dict[str, set[str]] = {}
    for each in read_imports(testing):
        imported.setdefault(each.importer, set()).add(each.imported)
    needed: set[str] = set()
    waiting = {"daicho.testing.pytest_plugin", "daicho.testing"}
    while waiting:
        needed |= waiting
        waiting = {name for module in waiting for name in imported.get(module, ())} - needed
    modules = {name for name, path in testing.items() if path.name != "__init__.py"}
    assert sorted(modules - needed) == []


def test_nothing_but_the_demonstration_itself_imports_it() -> None:
    """In a copy of the repository it can be removed: `demonstration.remove`."""
    own = ("demonstration.", "tests.demonstration.", "domains.", "bench.", "examples.book_queries")
    modules = {
        name: path
        for package in ("", "daicho_cli", "infra", "tests", "examples")
        for name, path in list_modules(ROOT if package else FUNCTIONS, package).items()
        if not f"{name}.".startswith(own)
    }
    assert len(modules) > 400
    imports = [i for i in read_imports(modules) if f"{i.imported}.".startswith(own)]
    added = ("domains", "domains.products", "domains.tickets")  # examples of own domains
    assert [str(i) for i in imports if i.imported not in added] == []


def find_shared_code(modules: Mapping[str, Path]) -> list[str]:
    """The names of code under test that modules of the oracle import."""
    return [
        str(each)
        for each in read_imported_names(modules)
        if f"{each.imported}.".startswith(tuple(f"{name}." for name in UNDER_TEST))
        and each.imported
        not in (ORACLE_TYPES if each.importer.startswith(PLAIN_MODULES) else ORACLE_NAMES)
    ]


def test_the_oracle_shares_no_code_with_what_derives() -> None:
    oracle = {name: path for name, path in MODULES.items() if name.startswith(ORACLE)}
    oracle |= list_modules(ROOT, ORACLE_OF_THE_PROOF)
    assert len(oracle) > 20
    assert find_shared_code(oracle) == []


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("recomputation", "from daicho.derive import derived_items"),
        ("recomputation", "import daicho.derive.derived_items"),
        ("differences", "from daicho.derive.contributions import compute_contributions"),
        ("differences", "from daicho.search.grams import STEPS"),
        ("recounts", "from daicho.layout.item_keys import render_derived_partition"),
        ("rows.plain_amounts", "from daicho.storage import keys"),
        ("rows.plain_rows", "def f():\n    from daicho.search.normalise import fold"),
    ],
)
def test_shared_code_in_the_oracle_is_found(module: str, line: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(line, "utf-8")
    (found,) = find_shared_code({f"{ORACLE}.{module}": path})
    assert found.startswith(f"{ORACLE}.{module}:")


def test_domains_import_the_library_and_nothing_of_aws() -> None:
    allowed = {"daicho", "domains", "pydantic", *sys.stdlib_module_names}
    domains = {name: path for name, path in MODULES.items() if name.startswith("domains.")}
    assert {each.imported.partition(".")[0] for each in read_imports(domains)} <= allowed


def test_infrastructure_imports_nothing_but_the_plan_and_the_project() -> None:
    own = {name: path for name, path in MODULES.items() if name.startswith("daicho.cdk")}
    imported = {each.imported for each in read_imports(own) if is_ours(each.imported)}
    allowed = ("daicho.cdk", "daicho.errors", "daicho.plan", "daicho.project", "daicho.runtime")
    assert {name for name in imported if not name.startswith(allowed)} <= {
        "daicho",
        "daicho.declare.subscribers",
    }


def test_mypy_reads_every_construct_that_is_imported() -> None:
    overrides = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mypy"]
    (read,) = (
        set(override["module"])
        for override in overrides["overrides"]
        if override.get("follow_imports") == "normal"
    )
    constructs = {**MODULES, **list_modules(ROOT, "infra"), **list_modules(ROOT, "tests")}
    names = {each.imported for each in read_imported_names(constructs)}
    imported = {".".join(name.split(".")[:2]) for name in names if name.startswith("aws_cdk.aws_")}
    assert imported == {name for name in read if name.startswith("aws_cdk.aws_")}


def test_one_module_opens_clients_of_the_sdk() -> None:
    opening = ("boto3", "botocore.session")
    using = {each.importer for each in read_imports(MODULES) if each.imported in opening}
    assert using == HOMES_OF_THE_SDK


def load(modules: list[str], unwanted: tuple[str, ...]) -> list[str]:
    """Which of the unwanted packages importing these modules loads, in a fresh interpreter."""
    script = (
        "import sys, json, importlib\n"
        f"for name in {modules!r}: getattr(importlib.import_module(name), 'handler', None)\n"
        f"print(json.dumps([name for name in {unwanted!r} if name in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": str(FUNCTIONS), **FUNCTION_ENVIRON},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded: list[str] = json.loads(done.stdout)
    return loaded


def modules_of(*packages: str) -> list[str]:
    entries = {f"daicho.{package}" for package in packages}
    return [name for name in MODULES if is_ours(name) and find_entry(name, ORDER) in entries]


def test_pure_packages_load_no_sdk() -> None:
    assert load(modules_of(*PURE), AWS_SDK) == []


def test_the_stream_side_loads_neither_pydantic_nor_the_resolver() -> None:
    assert load(modules_of(*STREAM_SIDE), NOT_ON_THE_STREAM_SIDE) == []


@pytest.mark.parametrize("name", sorted({*HANDLERS} - {"api", "ops", "subscribe"}))
def test_stream_and_scheduled_functions_load_neither_either(name: str) -> None:
    assert load([f"handlers.{name}"], NOT_ON_THE_STREAM_SIDE) == []


def test_the_api_starts_without_what_its_first_request_loads() -> None:
    assert load(["handlers.api"], NOT_AT_THE_START_OF_THE_API) == []


def test_the_function_of_operators_starts_without_what_its_first_request_loads() -> None:
    operations = ("daicho.operations.api", "daicho.operations.stack_state", "daicho.rebuild.job")
    assert load(["handlers.ops"], (*NOT_AT_THE_START_OF_THE_API, *operations, "pydantic")) == []


def test_loading_a_package_loads_none_of_its_modules() -> None:
    """A stream function would load Pydantic with the first import from ``daicho``."""
    packages = {name for name, path in MODULES.items() if path.name == "__init__.py"}
    with_imports = {each.importer for each in read_imports(MODULES)} & packages
    lazy = {"daicho", "daicho.cdk", "daicho.testing"}
    assert with_imports == lazy | {"daicho.plan", "domains"} & with_imports
    assert load(["daicho"], ("daicho.errors",)) == []


@pytest.mark.parametrize(("package", "page", "line"), PUBLIC_PACKAGES)
def test_the_public_names_are_those_that_the_documentation_lists(
    package: ModuleType, page: str, line: str
) -> None:
    text = (ROOT / "docs/reference" / page).read_text("utf-8")
    table = text.partition("\n## Names\n")[2] or text
    listed = re.findall(line, table, re.MULTILINE)
    assert sorted(listed) == package.__all__
    assert not any(isinstance(getattr(package, name), ModuleType) for name in package.__all__)
    documented = [name for name in package.__all__ if callable(getattr(package, name))]
    assert [name for name in documented if not getattr(package, name).__doc__] == []


@pytest.mark.parametrize("package", [package for package, _, _ in PUBLIC_PACKAGES])
def test_mypy_reads_the_same_public_names(package: ModuleType) -> None:
    text = Path(str(package.__file__)).read_text("utf-8")
    typed = re.findall(r"^    from (daicho\.[\w.]+) import (\w+) as (\w+)$", text, re.MULTILINE)
    assert [name for _, name, alias in typed if name != alias] == []
    names = {
        name: f"{package.__name__}.{module}"
        for module, names in package._NAMES.items()
        for name in names
    }
    assert {name: module for module, name, _ in typed} == names


def test_the_documentation_names_the_order_and_where_to_look() -> None:
    page = (ROOT / "docs/explanation/architecture.md").read_text("utf-8")
    table = page.partition("## Packages of the library\n")[2].partition("\n## ")[0]
    listed = [name.removesuffix("/") for name in re.findall(r"^\| `([\w/]+)` \|", table, re.M)]
    assert listed == [*STREAM_SIDE, *(name for name in ENTITY_SIDE if "." not in name)]
    look = page.partition("## Where to look\n")[2].partition("\n##")[0]
    rows = re.findall(r"^\| .+\? \| (.*) \| `(\w+)` \|$", look, re.MULTILINE)
    assert len(rows) == look.count("? |") > 15
    for files, name in rows:
        paths = [FUNCTIONS / "daicho" / path for path in re.findall(r"`([\w/]+(?:\.py|/))`", files)]
        assert all(path.exists() for path in paths), files
        texts = [
            p.read_text("utf-8")
            for path in paths
            for p in (path, *path.rglob("*.py"))
            if p.is_file()
        ]
        defined = re.compile(rf"^(?:\s*(?:class |def ))?{name}\b", re.MULTILINE)
        assert any(map(defined.search, texts)), name


@pytest.mark.parametrize("name", HANDLERS)
def test_handlers_are_thin(name: str) -> None:
    lines = len((FUNCTIONS / f"daicho/handlers/{name}.py").read_text("utf-8").splitlines())
    assert 15 <= lines <= 60, f"{lines} lines"


def test_no_file_is_long() -> None:
    lines = {
        str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines())
        for path in (ROOT / "app.py", *(p for each in CODE for p in (ROOT / each).rglob("*.py")))
    }
    assert len(lines) > 400
    assert {path: count for path, count in lines.items() if count > MAX_LINES} == {}


def count_code_lines(path: Path) -> int:
    """The lines of a module without docstrings, comments and blank lines."""
    text = path.read_text("utf-8")
    docstrings = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return sum(
        bool(line.strip()) and not line.lstrip().startswith("#") and number not in docstrings
        for number, line in enumerate(text.splitlines(), 1)
    )


def test_no_package_of_the_library_is_large() -> None:
    sizes: Counter[Path] = Counter()
    for path in (FUNCTIONS / "daicho").rglob("*.py"):
        sizes[path.parent] += count_code_lines(path)
    assert len(sizes) > 40
    assert {str(folder): size for folder, size in sizes.items() if size > MAX_PACKAGE_LINES} == {}


def test_the_library_has_few_protocol_classes() -> None:
    """One is for two classes that fulfil it, or for a test that derives grants from it."""
    library = {name: path for name, path in MODULES.items() if name.startswith("daicho.")}
    protocols = [
        f"{name}.{node.name}"
        for name, path in library.items()
        if not name.startswith("daicho.testing")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef)
        and any(re.match(r"(\w+\.)?Protocol\b", ast.unparse(base)) for base in node.bases)
    ]
    assert 10 < len(protocols) <= MAX_PROTOCOLS, protocols


def test_unit_tests_mirror_the_modules() -> None:
    """``unit/write/test_sender.py`` tests ``write/sender.py``, and so may ``test_sender_x.py``."""
    roots = {"": FUNCTIONS / "daicho", "demonstration": ROOT / "demonstration"}
    roots |= {name: ROOT / name for name in ("daicho_cli",)} | {
        name: ROOT / "tests" / name for name in ("simulator", "support")
    }
    modules = {
        (Path(name) / path.relative_to(root)).with_suffix("")
        for name, root in roots.items()
        for path in root.rglob("*.py")
    }
    lost = [
        str(test)
        for folder in (ROOT / "tests/unit", ROOT / "tests/demonstration/unit")
        for path in folder.glob("*/**/test_*.py")
        for test in [path.relative_to(folder)]
        for name in [path.stem.removeprefix("test_")]
        if not any(m.parent == test.parent and f"{name}_".startswith(f"{m.name}_") for m in modules)
    ]
    assert lost == []


def test_the_page_of_the_testing_package_has_the_arguments() -> None:
    page = (ROOT / "docs/reference/testing.md").read_text("utf-8")
    shown = re.findall(r"^\| `(\w+)\(([^)]*)\)`", page, re.MULTILINE)
    assert len(shown) > 5
    for name, arguments in shown:
        known = list(inspect.signature(getattr(daicho.testing, name)).parameters)
        assert arguments.split(", ") == known, name
