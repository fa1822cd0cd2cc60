"""The IAM actions that a handler's code calls, found in its source.

From a handler's module on, this follows imports and names: a function, method or class counts if
its name occurs in code that counts. In that code it finds the calls on stores (the table, a bucket,
the stream, the state machine, the stack), and the writes that are built
for transactions. The library's own classes say which operations of AWS those calls are.

It finds rather too much than too little. A call on a store under another name than `RECEIVERS`
has is not found, so `find_other_names` finds the other names of stores: there may be none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

RECEIVERS = {
    "table": "Table",
    "table()": "Table",
    "guard_table()": "Table",
    "store": "Table",
    "bucket": "Bucket",
    "bucket()": "Bucket",
    "open_bucket()": "Bucket",
    "objects": "Bucket",
    "failures": "Bucket",
    "open_failures()": "Bucket",
    "once": "Table",
    "auditor": "FunctionStarter",
}
"""What variables and attributes with a store are called, and the class that they are of."""
STORES = {
    "Table": "daicho/storage/table.py",
    "Bucket": "daicho/storage/bucket.py",
    "StreamDescriber": "daicho/storage/stream_shards.py",
    "StateMachine": "daicho/jobs/state_machine.py",
    "FunctionStarter": "daicho/operations/function_starter.py",
}
DEPENDENCIES = {
    "stream": ("StreamDescriber", "list_shards"),
    "machine": ("StateMachine", "start"),
}
"""Attributes of a handler's dependencies: the class that they open, and its one method."""
GOING_BACK = "cloudformation:DescribeStacks"  # `daicho.release.stack_status`
STORE_TYPE = re.compile(
    r"(Callable\b.*)?\b(Table|TallyTable|LimitedTable|GetsItems|QueriesItems|PutsItems|UpdatesItems|"
    r"Bucket|QuarantineBucket|ArchiverBucket|ForgetterBucket|ArchiveReaderBucket|FunctionStarter)\b"
)
"""Types of variables and attributes with a store, or of functions that return one."""
OPENING = {
    *("open_table()", "open_bucket()", "with_metering()", "with_announcement()"),
    "announce_writes()",
    *("dependencies.table()", "dependencies.bucket()"),
}
"""Calls that return a store. Its methods are called on a name, not on the result itself."""
THE_TABLE_ITSELF = "the table"
TRANSACTED = {
    "Put": "dynamodb:PutItem",
    "Update": "dynamodb:UpdateItem",
    "Delete": "dynamodb:DeleteItem",
    "ConditionCheck": "dynamodb:ConditionCheckItem",
}
"""A transaction is granted by what is in it (`daicho.storage.requests`)."""
ACTIONS: Mapping[str, tuple[str, ...]] = {
    "get_item": ("dynamodb:GetItem",),
    "batch_get_item": ("dynamodb:BatchGetItem",),
    "query": ("dynamodb:Query",),
    "scan": ("dynamodb:Scan",),
    "put_item": ("dynamodb:PutItem",),
    "update_item": ("dynamodb:UpdateItem",),
    "delete_item": ("dynamodb:DeleteItem",),
    "batch_write_item": ("dynamodb:BatchWriteItem",),
    "batch_execute_statement": ("dynamodb:PartiQLInsert",),  # the only statement of the library
    "transact_write_items": (),  # `TRANSACTED`
    "describe_table": ("dynamodb:DescribeTable",),
    "describe_stream": ("dynamodb:DescribeStream",),
    "start_execution": ("states:StartExecution",),
    "invoke": ("lambda:InvokeFunction",),
    "head_object": ("s3:GetObject",),
    "get_object": ("s3:GetObject",),
    "put_object": ("s3:PutObject",),
    "copy_object": ("s3:GetObject", "s3:PutObject"),
    "delete_object": ("s3:DeleteObject",),
    # Of versions: the library names one of each object.
    "delete_objects": ("s3:DeleteObject", "s3:DeleteObjectVersion"),
    "list_objects_v2": ("s3:ListBucket",),
    "list_object_versions": ("s3:ListBucketVersions",),
}
"""Operations of boto3's clients, and the actions that IAM checks for them."""
SIGNED = {"sign_upload_url": "s3:PutObject", "sign_download_url": "s3:GetObject"}
"""A signed URL is used with the rights of who has signed it."""
VERSION_OF_AN_OBJECT = "s3:GetObjectVersion"

Definition = ast.FunctionDef | ast.ClassDef


@dataclass
class Sources:
    """The code of functions, by file; ``root`` contains the packages."""

    root: Path
    trees: dict[Path, ast.Module] = field(default_factory=dict)

    def parse(self, path: Path) -> ast.Module:
        """The syntax tree of a file."""
        if path not in self.trees:
            self.trees[path] = ast.parse(path.read_text("utf-8"))
        return self.trees[path]

    def find_actions(self, handler: Path) -> set[str]:
        """The actions that the code of a handler calls, with the prefixes of their services."""
        actions: set[str] = set()
        for node in self._list_live_nodes(handler):
            if isinstance(node, ast.Call):
                actions |= self._find_actions_of_call(node)
            if isinstance(node, ast.Attribute) and _name(node.value) == "dependencies":
                if store := DEPENDENCIES.get(node.attr):
                    actions |= self.list_actions(*store)
                if node.attr == "is_going_back":
                    actions.add(GOING_BACK)
            if isinstance(node, ast.Attribute):  # a method that is called elsewhere
                actions |= self._find_actions_of_method(node)
        return actions

    def find_indexes(self, handler: Path) -> set[str] | None:
        """The indexes that a handler queries, and `THE_TABLE_ITSELF`; None if it computes names."""
        indexes: set[str] = set()
        for node in self._list_live_nodes(handler):
            if isinstance(node, ast.Call) and _name(node.func) == "Query":
                named = [keyword.value for keyword in node.keywords if keyword.arg == "index"]
                index = next(iter([*node.args[1:2], *named]), ast.Constant(THE_TABLE_ITSELF))
                if not isinstance(index, ast.Constant):
                    return None
                indexes.add(str(index.value))
        return indexes

    def find_other_names(self, path: Path) -> set[str]:
        """The names under which a file has a store, and which are not in `RECEIVERS`."""
        names: set[str] = set()
        for node in ast.walk(self.parse(path)):
            match node:
                case ast.arg(arg=name, annotation=ast.AST() as annotation):
                    names |= _name_store(name, annotation)
                case ast.AnnAssign(target=target, annotation=annotation):
                    names |= _name_store(_name(target), annotation)
                case ast.FunctionDef(name=name, returns=ast.AST() as returns):
                    is_called = not any("property" in _name(d) for d in node.decorator_list)
                    result = _name_store(f"{name}()" if is_called else name, returns)
                    names |= result - OPENING
                case ast.Assign(targets=targets, value=value):
                    names |= {name for target in targets for name in _pair_stores(target, value)}
                case ast.NamedExpr(target=target, value=value):
                    names |= set(_pair_stores(target, value))
                case ast.Attribute(value=ast.Call() as call, attr=method) if _is_store(call):
                    names |= {_name(call)} if self._is_method(method) else set()
        return {name for name in names if name.lstrip("_") not in RECEIVERS}

    def _is_method(self, name: str) -> bool:
        """Whether a store calls AWS in a method of this name."""
        return any(self.list_actions(store, name) for store in STORES)

    def list_actions(self, store: str, method: str) -> set[str]:
        """The actions of a method of a store's class, as its own source calls the clients."""
        methods = self._methods[store]
        waiting, seen, actions = [method], set[str](), set[str]()
        while waiting:
            name = waiting.pop()
            if name in seen or name not in methods:
                continue
            seen.add(name)
            for node in ast.walk(methods[name]):
                if isinstance(node, ast.Attribute):
                    actions.update(ACTIONS.get(node.attr, ()) if _is_client(node.value) else ())
                    waiting += [node.attr] if _name(node.value) == "self" else []
        return actions | ({SIGNED[method]} if method in SIGNED else set())

    @cached_property
    def _methods(self) -> dict[str, dict[str, ast.FunctionDef]]:
        return {
            name: {
                each.name: each
                for node in self.parse(self.root / file).body
                if isinstance(node, ast.ClassDef) and node.name == name
                for each in node.body
                if isinstance(each, ast.FunctionDef)
            }
            for name, file in STORES.items()
        }

    def _find_actions_of_call(self, call: ast.Call) -> set[str]:
        if isinstance(call.func, ast.Name):
            return {TRANSACTED[call.func.id]} if call.func.id in TRANSACTED else set()
        if not isinstance(call.func, ast.Attribute):
            return set()
        actions = self._find_actions_of_method(call.func)
        if actions and call.func.attr == "fetch" and len(call.args) + len(call.keywords) > 1:
            actions.add(VERSION_OF_AN_OBJECT)
        return actions

    def _find_actions_of_method(self, node: ast.Attribute) -> set[str]:
        store = RECEIVERS.get(_name(node.value).lstrip("_"), "")
        is_method = node.attr in self._methods.get(store, ())
        return self.list_actions(store, node.attr) if is_method else set()

    def _list_live_nodes(self, handler: Path) -> list[ast.AST]:
        """The syntax nodes of everything that may run, without the stores' own classes."""
        stores = {self.root / file for file in STORES.values()}
        files = self.list_reachable_files(handler) - stores
        definitions: dict[str, list[Definition]] = {}
        waiting: list[ast.AST] = []
        for file in files:
            for statement in self.parse(file).body:
                if isinstance(statement, Definition):
                    definitions.setdefault(statement.name, []).append(statement)
                else:
                    waiting.append(statement)
        live: list[ast.AST] = []
        names: set[str] = set()
        methods: dict[str, list[Definition]] = {}
        while waiting:
            for node in _walk_without_methods(waiting.pop(), methods, names, waiting):
                live.append(node)
                name = _name(node) if isinstance(node, ast.Name | ast.Attribute) else ""
                if name and name not in names:
                    names.add(name)
                    waiting += definitions.pop(name, [])
                    waiting += methods.pop(name, [])
        return live

    def list_reachable_files(self, start: Path) -> set[Path]:
        """The files that a file imports, directly or not, at any place."""
        reachable: set[Path] = set()
        waiting = {start}
        while waiting:
            reachable |= waiting
            waiting = {each for path in waiting for each in self._imports(path)} - reachable
        return reachable

    def _imports(self, path: Path) -> Iterator[Path]:
        names: set[str] = set()
        for node in _walk_without_types(self.parse(path)):
            if isinstance(node, ast.Import):
                names.update(each.name for each in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module)
                names.update(f"{node.module}.{each.name}" for each in node.names)
        candidates = (self.root / f"{name.replace('.', '/')}.py" for name in names)
        return (each for each in candidates if each.exists())


def _name_store(name: str, annotation: ast.AST) -> set[str]:
    """The name, if its type is that of a store, or of a function that returns one."""
    found = STORE_TYPE.search(ast.unparse(annotation))
    if found is None:
        return set()
    return {f"{name}()" if found[1] else name}


def _pair_stores(target: ast.AST, value: ast.AST) -> Iterator[str]:
    """The names that an assignment gives to stores."""
    match target, value:
        case (ast.Tuple(elts=targets), ast.Tuple(elts=values)):
            for each, of in zip(targets, values, strict=True):
                yield from _pair_stores(each, of)
        case _ if _is_store(value):
            yield _name(target)


def _is_store(node: ast.AST) -> bool:
    """Whether an expression is a store, to judge by its names."""
    match node:
        case ast.IfExp(body=body, orelse=otherwise):
            return _is_store(body) or _is_store(otherwise)
        case ast.BoolOp(values=values):
            return any(map(_is_store, values))
        case ast.Call(func=ast.Attribute(value=owner, attr=name)) if _name(owner) == "dependencies":
            return f"dependencies.{name}()" in OPENING
    return _name(node).lstrip("_") in {*RECEIVERS, *OPENING}


def _walk_without_types(start: ast.AST) -> Iterator[ast.AST]:
    """The nodes below one, but for blocks that only a type checker reads."""
    yield start
    for child in ast.iter_child_nodes(start):
        if not (isinstance(child, ast.If) and _name(child.test) == "TYPE_CHECKING"):
            yield from _walk_without_types(child)


def _walk_without_methods(
    start: ast.AST,
    methods: dict[str, list[Definition]],
    names: set[str],
    waiting: list[ast.AST],
) -> Iterable[ast.AST]:
    """The nodes below one; of a class, methods wait in ``methods`` until their names occur."""
    if not isinstance(start, ast.ClassDef):
        return ast.walk(start)
    nodes: list[ast.AST] = [each for base in start.bases for each in ast.walk(base)]
    for part in start.body:
        if not isinstance(part, ast.FunctionDef):
            nodes += ast.walk(part)
        elif part.name in names or part.name.startswith("__"):
            waiting.append(part)
        else:
            methods.setdefault(part.name, []).append(part)
    return nodes


def _name(node: ast.AST) -> str:
    """The last name of an expression: ``b`` of ``a.b``, and ``b()`` of ``a.b()``."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=function):
            return f"{_name(function)}()"
    return ""


def _is_client(node: ast.AST) -> bool:
    return _name(node) in {"_client", "_dynamodb", "_streams"}
