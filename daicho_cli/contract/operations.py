"""Compare two OpenAPI 3.1 documents from the side of a client.

Compared are paths, operations, parameters, request bodies, answers with their headers, and who may
call. Not compared: descriptions, examples, tags and servers. The rules for schemas are in
`daicho_cli.contract.schemas`.

A removed parameter and an added one of the same place are one renamed parameter, if they take
values of the same type. The library's own parameters (``limit``, ``fields``) are never renamed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from daicho.declare.searches import RESERVED_PARAMETERS
from daicho.web.routes.declared_queries import KEYWORD_DESCRIPTIONS
from daicho_cli.contract.changes import (
    ContractChange,
    Difference,
    Direction,
    Severity,
    make_breaking,
    make_compatible,
)
from daicho_cli.contract.schemas import Document, SchemaComparer, group_forms, resolve, split_forms

VARIABLE = re.compile(r"\{[^}]*\}")
QUERY_LINE = re.compile(r"^- `\?([^`]*)`: ", re.MULTILINE)
"""A query in the description of an operation: the library writes a line for each of them."""
Key = tuple[str, str]
Parameter = Mapping[str, Any]


class ParameterComparer:
    """Compares the parameters of operations of two documents."""

    def __init__(self, before: Document, after: Document) -> None:
        self.before, self.after = before, after
        self.schemas = SchemaComparer(before, after, Direction.REQUEST)

    def compare_parameters(
        self, old: Mapping[str, Any], new: Mapping[str, Any]
    ) -> Iterator[Difference]:
        """All differences between the parameters of two operations."""
        before = list_parameters(old, self.before)
        after = list_parameters(new, self.after)
        renamed = self._pair_renamed(before, after)
        for key in dict.fromkeys((*before, *after)):
            if key in renamed:
                yield _describe_rename(before[key], after[renamed[key]])
                yield from self._compare_one(before[key], after[renamed[key]])
            elif key not in after:
                yield _describe_removal(before[key])
            elif key in before:
                yield from self._compare_one(before[key], after[key])
            elif key not in renamed.values():
                yield _describe_addition(after[key])
        yield from _compare_queries(
            _list_queries(old), _list_queries(new), _list_names(before), _list_names(after)
        )

    def _pair_renamed(
        self, before: Mapping[Key, Parameter], after: Mapping[Key, Parameter]
    ) -> dict[Key, Key]:
        """The new key of each renamed parameter by its old key, the most similar ones first."""
        lost = [key for key in before if key not in after and _may_be_renamed(key)]
        added = [key for key in after if key not in before and _may_be_renamed(key)]
        pairs: dict[Key, Key] = {}
        for is_similar in (_are_keywords, _are_equal, self._have_one_type):
            for key in lost:
                candidates = [
                    other
                    for other in added
                    if other[0] == key[0]
                    and other not in pairs.values()
                    and is_similar(before[key], after[other])
                ]
                if key not in pairs and candidates:
                    pairs[key] = candidates[0]
        return pairs

    def _have_one_type(self, old: Parameter, new: Parameter) -> bool:
        kinds = [
            set(group_forms(split_forms(parameter.get("schema", {}), document)))
            for parameter, document in ((old, self.before), (new, self.after))
        ]
        return kinds[0] == kinds[1] and bool(old.get("required")) == bool(new.get("required"))

    def _compare_one(self, old: Parameter, new: Parameter) -> Iterator[Difference]:
        subject = _name_subject(old)
        if new.get("required") and not old.get("required"):
            text = f"{subject} is required"
            yield make_breaking("newly-required-parameter", subject, text, "required-parameter")
        elif old.get("required") and not new.get("required"):
            yield make_compatible("newly-optional-parameter", subject, f"{subject} is optional")
        for name in ("style", "explode", "allowReserved"):
            if old.get(name) != new.get(name):
                kept = f"{name} {old.get(name)}"
                text = f"{subject}: {kept} → {new.get(name)}"
                yield make_breaking("changed-encoding", subject, text, kept=kept)
        if new.get("deprecated") and not old.get("deprecated"):
            text = f"{subject} is deprecated"
            yield Difference(Severity.NOTICE, "deprecated", subject, text)
        yield from self.schemas.compare(old.get("schema", {}), new.get("schema", {}), subject)
        contents = old.get("content", {}), new.get("content", {})
        yield from self.schemas.compare_contents(*contents, subject)


def list_parameters(operation: Mapping[str, Any], document: Document) -> dict[Key, Parameter]:
    """By place and name; those of the path by their position, since their names are not sent."""
    positions = {name[1:-1]: i for i, name in enumerate(VARIABLE.findall(operation["path"]))}
    parameters: dict[Key, Parameter] = {}
    for entry in operation["parameters"]:
        parameter = resolve(entry, document)
        place, name = parameter["in"], parameter["name"]
        if place == "path":
            key = str(positions.get(name, name))
        else:
            key = name.lower() if place == "header" else name
        parameters[place, key] = parameter
    return parameters


def _name_subject(parameter: Parameter) -> str:
    return f"{parameter['in']} parameter {parameter['name']}"


def _describe_rename(old: Parameter, new: Parameter) -> Difference:
    name, subject = old["name"], _name_subject(old)
    kind = "renamed-parameter"
    if _takes_keyword(old):
        kind = "renamed-search"
    elif _selects_listing(old):
        kind = "renamed-flag"
    text = f"{subject} is renamed to {new['name']}"
    return make_breaking("renamed-parameter", subject, text, kind, kept=name)


def _describe_removal(old: Parameter) -> Difference:
    kind = "removed-search" if _takes_keyword(old) else "removed-parameter"
    subject, text = _name_subject(old), f"{_name_subject(old)} is removed"
    return make_breaking("removed-parameter", subject, text, kind, kept=old["name"])


def _describe_addition(new: Parameter) -> Difference:
    subject = _name_subject(new)
    if not new.get("required"):
        return make_compatible("added-parameter", subject, f"{subject} is added")
    text = f"{subject} is new and required"
    return make_breaking("added-required-parameter", subject, text, "required-parameter")


def _compare_queries(
    before: Mapping[frozenset[str], str],
    after: Mapping[frozenset[str], str],
    names_before: Mapping[str, bool],
    names_after: Mapping[str, bool],
) -> Iterator[Difference]:
    """Combinations of parameters that select a query. Each may remain, and their combination not.

    ``names_before``, ``names_after``: the query parameters, and whether each is required. What
    follows from a removed, new or newly required parameter is not repeated here.
    """
    required = {name for name, is_required in names_after.items() if is_required}
    for names, query in before.items():
        if names not in after and required <= names <= names_after.keys():
            subject = f"query ?{query}"
            yield make_breaking("removed-query", subject, f"{subject} is removed")
    for names, query in after.items():
        if names not in before and names <= names_before.keys():
            subject = f"query ?{query}"
            yield make_compatible("added-query", subject, f"{subject} is added")


def _list_queries(operation: Mapping[str, Any]) -> dict[frozenset[str], str]:
    """The queries that the description lists, by the names of their parameters."""
    lines: Sequence[str] = QUERY_LINE.findall(operation.get("description", ""))
    return {frozenset(pair.partition("=")[0] for pair in line.split("&")): line for line in lines}


def _list_names(parameters: Mapping[Key, Parameter]) -> dict[str, bool]:
    """The query parameters, and whether each is required."""
    return {
        name: bool(parameter.get("required"))
        for (place, name), parameter in parameters.items()
        if place == "query"
    }


def _may_be_renamed(key: Key) -> bool:
    place, name = key
    return place != "path" and name not in RESERVED_PARAMETERS


def _are_keywords(old: Parameter, new: Parameter) -> bool:
    return _takes_keyword(old) and _takes_keyword(new)


def _are_equal(old: Parameter, new: Parameter) -> bool:
    return old.get("schema") == new.get("schema") and old.get("required") == new.get("required")


def _takes_keyword(parameter: Parameter) -> bool:
    """Whether it is the parameter of a search."""
    description = str(parameter.get("description", ""))
    return description.startswith(tuple(KEYWORD_DESCRIPTIONS.values()))


def _selects_listing(parameter: Parameter) -> bool:
    """Whether it is the name of a listing with a condition: ``?open=true``."""
    schema = parameter.get("schema", {})
    return [schema.get("const")] == ["true"] or bool(schema.get("enum") == ["true"])


METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


def compare_descriptions(before: Document, after: Document) -> list[ContractChange]:
    """The changes of an API's contract. The same difference of several operations is one change.

    Paths, operations, parameters, bodies, answers with their headers, and roles are compared.
    Descriptions, examples, tags and servers are not.

    Raises:
        KeyError: a document refers to a component that it does not have.
    """
    operations: dict[Difference, dict[str, None]] = defaultdict(dict)
    for operation, difference in ApiComparer(before, after).compare():
        operations[difference].setdefault(operation)
    changes = [
        ContractChange(operations=tuple(names), **vars(difference))
        for difference, names in operations.items()
    ]
    return sorted(changes, key=lambda change: [*Severity].index(change.severity))


class ApiComparer(ParameterComparer):
    """Compares the operations of two documents."""

    def __init__(self, before: Document, after: Document) -> None:
        super().__init__(before, after)
        self._answers = SchemaComparer(before, after, Direction.ANSWER)

    def compare(self) -> Iterator[tuple[str, Difference]]:
        """All differences, each with the operation that has it (``GET /users``)."""
        old, new = _list_operations(self.before), _list_operations(self.after)
        for key in dict.fromkeys((*old, *new)):
            name = (old.get(key) or new[key])[0]
            if key not in new:
                yield name, _describe_removed(name)
            elif key not in old:
                yield name, make_compatible("added-operation", name, f"{name} is added")
            else:
                for difference in self._compare_operation(old[key][1], new[key][1], name):
                    yield name, difference

    def _compare_operation(
        self, old: Mapping[str, Any], new: Mapping[str, Any], name: str
    ) -> Iterator[Difference]:
        yield from self.compare_parameters(old, new)
        yield from self._compare_bodies(old, new)
        yield from self._compare_answers(old, new)
        yield from self._compare_security(old, new)
        if old.get("operationId") != new.get("operationId"):
            ids = f"operationId {old.get('operationId')} → {new.get('operationId')}"
            text = f"{name}: {ids}, so generated clients have another function"
            yield Difference(Severity.NOTICE, "changed-operation-id", name, text)
        if new.get("deprecated") and not old.get("deprecated"):
            yield Difference(Severity.NOTICE, "deprecated", name, f"{name} is deprecated")

    def _compare_bodies(
        self, old: Mapping[str, Any], new: Mapping[str, Any]
    ) -> Iterator[Difference]:
        before = resolve(old.get("requestBody", {}), self.before)
        after = resolve(new.get("requestBody", {}), self.after)
        subject = "request body"
        if before and not after:
            yield make_breaking("removed-body", subject, f"{subject} is not accepted any more")
        elif after and not before:
            if after.get("required"):
                text = f"{subject} is new and required"
                yield make_breaking("added-required-body", subject, text, "required-body")
            else:
                yield make_compatible("added-body", subject, f"{subject} is accepted")
        elif before:
            if after.get("required") and not before.get("required"):
                text = f"{subject} is required"
                yield make_breaking("newly-required-body", subject, text, "required-body")
            contents = before.get("content", {}), after.get("content", {})
            yield from self.schemas.compare_contents(*contents, subject)

    def _compare_answers(
        self, old: Mapping[str, Any], new: Mapping[str, Any]
    ) -> Iterator[Difference]:
        before, after = old.get("responses", {}), new.get("responses", {})
        for status in dict.fromkeys((*before, *after)):
            subject = f"answer {status}"
            is_problem = status.startswith(("4", "5"))
            if status not in after:
                if is_problem:
                    yield make_compatible("removed-problem", subject, f"{subject} does not occur")
                else:
                    text = f"{subject} is removed"
                    yield make_breaking("removed-answer", subject, text, kept=status)
            elif status not in before:
                severity = Severity.COMPATIBLE if is_problem else Severity.NOTICE
                yield Difference(severity, "added-answer", subject, f"{subject} is added")
            else:
                yield from self._compare_answer(before[status], after[status], subject)

    def _compare_answer(
        self, old: Mapping[str, Any], new: Mapping[str, Any], subject: str
    ) -> Iterator[Difference]:
        old, new = resolve(old, self.before), resolve(new, self.after)
        before, after = old.get("headers", {}), new.get("headers", {})
        for name in dict.fromkeys((*before, *after)):
            header = f"header {name} of {subject}"
            if name not in after:
                yield make_breaking("removed-header", header, f"{header} is removed")
            elif name not in before:
                yield make_compatible("added-header", header, f"{header} is added")
            else:
                schemas = [
                    resolve(headers[name], document).get("schema", {})
                    for headers, document in ((before, self.before), (after, self.after))
                ]
                yield from self._answers.compare(schemas[0], schemas[1], header)
        contents = old.get("content", {}), new.get("content", {})
        yield from self._answers.compare_contents(*contents, subject)

    def _compare_security(
        self, old: Mapping[str, Any], new: Mapping[str, Any]
    ) -> Iterator[Difference]:
        """Who may call: each entry of ``security`` is enough; no entry means everybody."""
        before = old.get("security", self.before.get("security")) or [{}]
        after = new.get("security", self.after.get("security")) or [{}]
        lost = [each for each in before if not any(_is_met(needed, each) for needed in after)]
        for requirement in lost:
            yield _describe_lost(requirement, after)
        admitted = [each for each in after if not any(_is_met(given, each) for given in before)]
        if admitted and not lost:
            text = "more callers are authorized"
            yield make_compatible("relaxed-security", "authorization", text)


def _list_operations(document: Document) -> dict[Key, tuple[str, Mapping[str, Any]]]:
    """Operations by path without the names of its variables, and method."""
    operations: dict[Key, tuple[str, Mapping[str, Any]]] = {}
    for path, item in document.get("paths", {}).items():
        entry = resolve(item, document)
        for method in METHODS:
            if method in entry:
                own = entry[method]
                parameters = [*entry.get("parameters", []), *own.get("parameters", [])]
                operations[VARIABLE.sub("{}", path), method] = (
                    f"{method.upper()} {path}",
                    {**own, "parameters": parameters, "path": path},
                )
    return operations


def _is_met(needed: Mapping[str, Sequence[str]], given: Mapping[str, Sequence[str]]) -> bool:
    """Whether who has the schemes and roles ``given`` has those that are ``needed``."""
    return all(
        scheme in given and set(roles) <= set(given[scheme]) for scheme, roles in needed.items()
    )


def _describe_lost(
    requirement: Mapping[str, Sequence[str]], after: Sequence[Mapping[str, Sequence[str]]]
) -> Difference:
    """Callers with ``requirement``, who may not call any more."""
    similar = next((each for each in after if each.keys() == requirement.keys()), None)
    if similar is None:
        kept = f"authorization by {' and '.join(requirement) or 'no token'}"
        text = f"{kept} is not enough any more"
        return make_breaking("changed-security", "authorization", text, kept=kept)
    roles = " and ".join(sorted(_list_roles(similar) - _list_roles(requirement)))
    return make_breaking("changed-role", "role", f"the role {roles} is required", kept=roles)


def _list_roles(requirement: Mapping[str, Sequence[str]]) -> set[str]:
    return {role for roles in requirement.values() for role in roles}


def _describe_removed(name: str) -> Difference:
    """A removed operation, by its method and path."""
    method, _, path = name.partition(" ")
    kind = "removed-list" if method == "GET" else "removed-operation"
    text = f"{name} is removed"
    return make_breaking("removed-operation", name, text, kind, method=method, path=path)
