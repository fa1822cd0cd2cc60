"""Compare the parameters of an operation: what is removed, renamed, required or narrowed.

A removed parameter and an added one of the same place are one renamed parameter, if they take
values of the same type. The library's own parameters (``limit``, ``fields``) are never renamed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daicho.declare.searches import RESERVED_PARAMETERS
from daicho.web.routes.declared_queries import KEYWORD_DESCRIPTIONS
from daicho_cli.contract.change import Difference, Severity, make_breaking, make_compatible
from daicho_cli.contract.forms import Document, group_forms, resolve, split_forms
from daicho_cli.contract.schemas import SchemaComparer
from daicho_cli.contract.ways import find_operation_way

VARIABLE = re.compile(r"\{[^}]*\}")
QUERY_LINE = re.compile(r"^- `\?([^`]*)`: ", re.MULTILINE)
"""A query in the description of an operation: the library writes a line for each of them."""
Key = tuple[str, str]
Parameter = Mapping[str, Any]


@dataclass
class ParameterComparer:
    """Compares the parameters of operations of two documents."""

    before: Document
    after: Document
    schemas: SchemaComparer

    def compare(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
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
            way = find_operation_way("required-parameter")
            text = f"{subject} is required"
            yield make_breaking("newly-required-parameter", subject, text, way)
        elif old.get("required") and not new.get("required"):
            yield make_compatible("newly-optional-parameter", subject, f"{subject} is optional")
        for name in ("style", "explode", "allowReserved"):
            if old.get(name) != new.get(name):
                text = f"{subject}: {name} {old.get(name)} → {new.get(name)}"
                way = find_operation_way("changed-encoding", kept=f"{name} {old.get(name)}")
                yield make_breaking("changed-encoding", subject, text, way)
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
    return make_breaking("renamed-parameter", subject, text, find_operation_way(kind, kept=name))


def _describe_removal(old: Parameter) -> Difference:
    kind = "removed-search" if _takes_keyword(old) else "removed-parameter"
    subject, way = _name_subject(old), find_operation_way(kind, kept=old["name"])
    return make_breaking("removed-parameter", subject, f"{subject} is removed", way)


def _describe_addition(new: Parameter) -> Difference:
    subject = _name_subject(new)
    if not new.get("required"):
        return make_compatible("added-parameter", subject, f"{subject} is added")
    way, text = find_operation_way("required-parameter"), f"{subject} is new and required"
    return make_breaking("added-required-parameter", subject, text, way)


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
            subject, way = f"query ?{query}", find_operation_way("removed-query")
            yield make_breaking("removed-query", subject, f"{subject} is removed", way)
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
