"""What a function's role may do is what its code calls, no more and no less."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.infra.called_actions import ACTIONS, STORES, THE_TABLE_ITSELF, Sources
from tests.infra.synthesis import Synthesis
from tests.infra.test_permissions import GRANTED, allowed, role_of
from tests.support.repository import ROOT

FUNCTIONS = Sources(ROOT / "functions")
PLATFORM = re.compile(r"logs:(CreateLogStream|PutLogEvents)|xray:Put\w+")
"""Of Lambda itself, for every function."""
BY_LAMBDA = {
    *("dynamodb:ListStreams", "dynamodb:DescribeStream"),
    *("dynamodb:GetRecords", "dynamodb:GetShardIterator"),
    "s3:ListBucket",
}
"""What Lambda does with the role of a stream consumer: read the stream, use the failure bucket."""
OPENING = re.compile(r"boto3\.client\(|from daicho\.storage\.sessions import .*\bopen_")
WITHOUT_A_CALL = {
    "project": BY_LAMBDA,
    "archive": BY_LAMBDA,
    # Only who may list a bucket is answered 404, and not 403, if an object is missing.
    "forget": {"s3:ListBucket"},
    # A function calls it, and no method of a store (`daicho.storage.stream_shards`).
    "rollup": {"lambda:GetEventSourceMapping"},
}
DYNAMIC = ("api", "jobs")
"""Functions with code that reads the names of indexes from the plan. The API may query all; of that
code, a job calls deletions alone, which query the table."""


def find_handler(name: str) -> Path:
    return FUNCTIONS.root / "daicho" / "handlers" / f"{name}.py"


@pytest.mark.parametrize("name", GRANTED)
def test_a_function_is_granted_what_its_code_calls_and_nothing_else(
    dev: Synthesis, name: str
) -> None:
    granted = {
        action for actions in allowed(dev, role_of(dev, name)).values() for action in actions
    }
    granted = {action for action in granted if not PLATFORM.fullmatch(action)}
    called = FUNCTIONS.find_actions(find_handler(name))
    assert "dynamodb:UpdateItem" in called or name in ("sweep", "audit")  # else it finds nothing
    assert granted - WITHOUT_A_CALL.get(name, set()) == called - WITHOUT_A_CALL.get(name, set())


@pytest.mark.parametrize("name", [name for name in GRANTED if name not in DYNAMIC])
def test_a_function_may_query_the_indexes_that_its_code_names(name: str) -> None:
    granted = set(GRANTED[name].indexes)
    if "Query" in GRANTED[name].table:
        granted.add(THE_TABLE_ITSELF)
    assert FUNCTIONS.find_indexes(find_handler(name)) == granted


def test_every_store_has_a_name_by_which_its_calls_are_found() -> None:
    handlers = (find_handler(name) for name in GRANTED)
    files = {file for handler in handlers for file in FUNCTIONS.list_reachable_files(handler)}
    files -= {FUNCTIONS.root / file for file in STORES.values()}
    files = {file for file in files if "plan" not in file.parts}  # no store, but other buckets
    assert len(files) > 250
    names = {file.stem: FUNCTIONS.find_other_names(file) for file in sorted(files)}
    assert {stem: found for stem, found in names.items() if found} == {}


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("def f(ledger: Table): ...", "ledger"),
        ("def f(find: Callable[[], Table]): ...", "find()"),
        ("class C:\n    _rows: Table | None", "_rows"),
        ("def rows() -> Table: ...", "rows()"),
        ("class C:\n    @cached_property\n    def rows(self) -> Table: ...", "rows"),
        ("def f(table): rows = table", "rows"),
        ("def f(self): self.a, self.rows = 1, self._store", "rows"),
        ("def f(self): rows = self.store or None", "rows"),
        ("def f(store): rows = store.with_metering()", "rows"),
        ("def f(dependencies): rows = dependencies.table('t')", "rows"),
        ("def f(store): store.with_metering().get('k')", "with_metering()"),
        ("def f(): open_table('t').get('k')", "open_table()"),
        ("from daicho.tally import limited_table as x\ndef f(rows: x.TallyTable): ...", "rows"),
    ],
)
def test_another_name_of_a_store_is_found(line: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "daicho").symlink_to(FUNCTIONS.root / "daicho")
    path = tmp_path / "module.py"
    path.write_text(f"from daicho.storage.table import Table\n{line}\n")
    assert Sources(tmp_path).find_other_names(path) == {name}


def test_code_that_is_not_reached_is_not_counted_and_all_other_is(tmp_path: Path) -> None:
    (tmp_path / "daicho").symlink_to(FUNCTIONS.root / "daicho")
    (tmp_path / "planted.py").write_text(
        "from daicho.storage.requests import ConditionCheck, Query\n"
        "def used(table): return Purge(table).run()\n"
        "def unused(table): table.delete(None)\n"
        "class Purge:\n"
        "    def run(self): self._table.scan(None); Query('p', index='GSI2'); self._check()\n"
        "    def _check(self): return ConditionCheck(None, '')\n"
        "    def move(self, failures): failures.move('a', 'b')\n"
    )
    handler = tmp_path / "handler.py"
    handler.write_text(
        "from planted import used\n"
        "def build(dependencies): return used(dependencies.table('t'), dependencies.stream('t'))\n"
        "handler = build\n"
    )
    sources = Sources(tmp_path)
    assert sources.find_actions(handler) == {
        *("dynamodb:Scan", "dynamodb:ConditionCheckItem"),
        *("dynamodb:DescribeTable", "dynamodb:DescribeStream"),
    }
    assert sources.find_indexes(handler) == {"GSI2"}
    (tmp_path / "planted.py").write_text(
        "from daicho.storage.requests import Query\n"
        "def used(table): Query('p'); Query('p', 'GSI3'); Query('p', index='GSI1')\n"
    )
    found = Sources(tmp_path).find_indexes(handler)
    assert found == {THE_TABLE_ITSELF, "GSI3", "GSI1"}


def test_every_operation_of_a_client_has_its_actions() -> None:
    called = {
        node.func.attr
        for file in STORES.values()
        for node in ast.walk(FUNCTIONS.parse(FUNCTIONS.root / file))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Attribute)
        and node.func.value.attr in ("_client", "_dynamodb", "_streams")
    }
    assert called - {"generate_presigned_url"} == set(ACTIONS)


def test_no_other_module_of_the_functions_opens_a_client() -> None:
    library = FUNCTIONS.root / "daicho"
    opening = {
        path.relative_to(FUNCTIONS.root).as_posix()
        for path in library.rglob("*.py")
        if OPENING.search(path.read_text("utf-8"))
    }
    others = {"daicho/release/stack_status.py", "daicho/storage/event_queue.py"}
    assert opening == {*STORES.values(), *others}
