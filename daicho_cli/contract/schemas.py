"""Compare two JSON Schemas of an OpenAPI 3.1 document from the side of a client.

What breaks a client depends on the direction. In a request, a schema that accepts less is breaking:
the client may send what is refused now. In an answer, a schema that allows more is breaking: the
client may receive what it does not know. There are two exceptions. Clients must ignore fields that
they do not know, so that a new field is compatible. Many accept values that they do not know, so
that a new value of an enumeration is a notice.

Keywords that no rule is about are compared too. A difference in one of them is a notice, so that
nothing is passed over.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from daicho_cli.contract.changes import (
    Difference,
    Direction,
    Severity,
    find_way,
    make_breaking,
    make_compatible,
)

Schema = Mapping[str, Any]
Document = Mapping[str, Any]

ANY = "any"
"""The type of a schema without a type: any value."""
ANNOTATIONS = frozenset(
    {"$comment", "description", "example", "examples", "externalDocs", "title", "readOnly"}
)
"""Keywords that allow the same values whatever they are."""
OUTER = ANNOTATIONS | {"default", "deprecated"}
"""Keywords that belong to a schema as a whole, and not to each of its alternatives."""
COMPONENT = "$component"
"""In a form, the name of the component that it is; '' or missing if it is none."""
_CHOICES = ("anyOf", "oneOf")


def resolve(value: Schema, document: Document) -> Schema:
    """What a value of a document refers to, with the keywords next to the reference.

    Raises:
        KeyError: the document does not have it.
    """
    while "$ref" in value:
        target: Any = document
        for part in value["$ref"].removeprefix("#/").split("/"):
            target = target[part.replace("~1", "/").replace("~0", "~")]
        value = {**target, **{name: each for name, each in value.items() if name != "$ref"}}
    return value


def name_reference(schema: Any) -> str:
    """The name of the component that a schema is; '' if it is none, or a limited one."""
    if not isinstance(schema, Mapping) or schema.keys() - OUTER != {"$ref"}:
        return ""
    reference: str = schema["$ref"]
    return reference.rpartition("/")[2]


def split_forms(schema: Any, document: Document) -> Iterator[Schema]:
    """The schemas without alternatives that together allow the same values, each of one type."""
    name = name_reference(schema)
    if isinstance(schema, bool):
        schema = {} if schema else {"not": {}}
    schema = _merge_parts(resolve(schema, document), document)
    for choice in _CHOICES:
        if choice in schema:
            limits = {n: value for n, value in schema.items() if n not in {choice, *OUTER}}
            for alternative in schema[choice]:
                if limits:
                    alternative = {**limits, **resolve(alternative, document)}  # noqa: PLW2901
                yield from split_forms(alternative, document)
            return
    schema = {n: value for n, value in schema.items() if n not in OUTER}
    if "const" in schema:
        schema["enum"] = [schema.pop("const")]
    kinds = schema.get("type", _infer_type(schema))
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        yield {**schema, "type": kind, COMPONENT: name}


def group_forms(forms: Iterable[Schema]) -> dict[str, list[Schema]]:
    """Schemas by their type."""
    grouped: dict[str, list[Schema]] = defaultdict(list)
    for form in forms:
        grouped[form["type"]].append(form)
    return dict(grouped)


def _infer_type(schema: Schema) -> str:
    if "properties" in schema:
        return "object"
    kinds = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
    values = {kinds.get(type(value), ANY) for value in schema.get("enum", ())}
    return values.pop() if len(values) == 1 else ANY


def _merge_parts(schema: Schema, document: Document) -> Schema:
    """A schema with its ``allOf`` merged into it."""
    if "allOf" not in schema:
        return schema
    merged: dict[str, Any] = {}
    parts = [_merge_parts(resolve(part, document), document) for part in schema["allOf"]]
    for part in (*parts, {name: value for name, value in schema.items() if name != "allOf"}):
        for name, value in part.items():
            if name == "properties":
                merged[name] = {**merged.get(name, {}), **value}
            elif name == "required":
                merged[name] = [*merged.get(name, ()), *value]
            else:
                merged[name] = value
    return merged


LOWER_BOUNDS = frozenset(
    {"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "ge", "gt"}
)
UPPER_BOUNDS = frozenset(
    {"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "le", "lt"}
)
"""``ge``, ``gt``, ``le`` and ``lt`` are what Pydantic writes where it has no keyword."""
EXACT = frozenset({"pattern", "format", "multipleOf", "uniqueItems"})
"""Keywords of which two values cannot be ordered: another value is both narrower and wider."""
COMPARED = frozenset(
    {"additionalProperties", "enum", "items", "properties", "required", "type", COMPONENT}
)
MAX_DEPTH = 20
"""Of fields in fields: only a schema that refers to itself with other limits is deeper."""


@dataclass
class SchemaComparer:
    """Compares schemas of an old and a new document in one direction."""

    before: Document
    after: Document
    direction: Direction
    _compared: dict[tuple[str, str], list[Difference]] = field(default_factory=dict)
    _paired: dict[tuple[str, str, str], list[Difference]] = field(default_factory=dict)

    @property
    def _is_request(self) -> bool:
        return self.direction is Direction.REQUEST

    def compare(self, old: Any, new: Any, subject: str) -> list[Difference]:
        """All differences. A component is compared once, and is the subject of its differences."""
        if subject.count(".") + subject.count("[]") > MAX_DEPTH:
            return []
        found = list(self._compare_outer(old, new, subject))
        names = name_reference(old), name_reference(new)
        if not (names[0] and names[1]):
            return [*found, *self._compare_forms(old, new, subject)]
        if names not in self._compared:
            self._compared[names] = []  # a schema that refers to itself
            self._compared[names] = list(self._compare_forms(old, new, names[0]))
        return [*found, *self._compared[names]]

    def compare_contents(
        self, before: Mapping[str, Any], after: Mapping[str, Any], subject: str
    ) -> Iterator[Difference]:
        """The differences of ``content``: media types, and the schema of each."""
        for kind in dict.fromkeys((*before, *after)):
            if kind not in after:
                text = f"{subject}: {kind} is removed"
                yield make_breaking("removed-media-type", subject, text, kept=kind)
            elif kind not in before:
                yield make_compatible("added-media-type", subject, f"{subject}: {kind} is added")
            else:
                schemas = before[kind].get("schema", {}), after[kind].get("schema", {})
                yield from self.compare(*schemas, subject)

    def _compare_outer(self, old: Any, new: Any, subject: str) -> Iterator[Difference]:
        """What belongs to a field or a parameter, and not to the type of its values."""
        old, new = (
            resolve(each, document) if isinstance(each, Mapping) else {}
            for each, document in ((old, self.before), (new, self.after))
        )
        if self._is_request and old.get("default") != new.get("default"):
            change = f"default {_show(old.get('default'))} → {_show(new.get('default'))}"
            yield Difference(Severity.NOTICE, "changed-default", subject, f"{subject}: {change}")
        if new.get("deprecated") and not old.get("deprecated"):
            yield Difference(
                Severity.NOTICE, "deprecated", subject, f"{subject} is deprecated in {self._place}"
            )

    def _compare_forms(self, old: Any, new: Any, subject: str) -> Iterator[Difference]:
        before = group_forms(split_forms(old, self.before))
        after = group_forms(split_forms(new, self.after))
        source, target = (before, after) if self._is_request else (after, before)
        for kind in source:
            if not _find_cover(kind, target):
                text = "is not accepted any more" if self._is_request else "is possible now"
                rule = "narrowed-type" if self._is_request else "widened-type"
                way = f"{rule} null" if kind == "null" else rule
                yield self._differ(True, rule, subject, f"type {kind} {text}", way=way)
        for kind in target:
            if not _find_cover(kind, source):
                text = "is accepted too" if self._is_request else "does not occur any more"
                rule = "widened-type" if self._is_request else "narrowed-type"
                yield self._differ(False, rule, subject, f"type {kind} {text}")
        for kind, forms in source.items():
            cover = _find_cover(kind, target)
            if cover and (cover != ANY or kind == ANY):
                yield from self._match_forms(forms, target[cover], subject)

    def _match_forms(
        self, source: Sequence[Schema], target: Sequence[Schema], subject: str
    ) -> Iterator[Difference]:
        """Compare each form of a type with the form of the other side that is most like it."""
        for form in source:
            pairs = [(form, other) if self._is_request else (other, form) for other in target]
            compared = [list(self._compare_pair(old, new, subject)) for old, new in pairs]
            yield from min(compared, key=_count_breaking)

    def _compare_pair(self, old: Schema, new: Schema, subject: str) -> Sequence[Difference]:
        """Two forms; those that are components are compared once, like a reference to them."""
        names = old[COMPONENT], new[COMPONENT]
        if not (names[0] and names[1]):
            return list(self._compare_form(old, new, subject))
        key = (*names, old["type"])
        if key not in self._paired:
            self._paired[key] = []
            self._paired[key] = list(self._compare_form(old, new, names[0]))
        return self._paired[key]

    def _compare_form(self, old: Schema, new: Schema, subject: str) -> Iterator[Difference]:
        """Two schemas of one type without alternatives."""
        yield from self._compare_values(old, new, subject)
        for name in sorted((old.keys() | new.keys()) & (LOWER_BOUNDS | UPPER_BOUNDS)):
            if old.get(name) != new.get(name):
                yield self._judge_bound(name, old.get(name), new.get(name), subject)
        for name in sorted((old.keys() | new.keys()) & EXACT):
            if (old.get(name) or None) != (new.get(name) or None):
                yield self._judge_exact(name, old.get(name), new.get(name), subject)
        if "properties" in old or "properties" in new or "required" in new:
            yield from self._compare_fields(old, new, subject)
        yield from self._compare_other_fields(old, new, subject)
        if "items" in old or "items" in new:
            items = old.get("items", {}), new.get("items", {})
            yield from self.compare(*items, f"{subject}[]")
        rest = (old.keys() | new.keys()) - COMPARED - LOWER_BOUNDS - UPPER_BOUNDS
        for name in sorted(rest - EXACT):
            if old.get(name) != new.get(name):
                text = f"{subject}: {name} differs in {self._place}, which no rule is about"
                yield Difference(Severity.NOTICE, "unclassified", subject, text)

    def _compare_values(self, old: Schema, new: Schema, subject: str) -> Iterator[Difference]:
        """Enumerated values; a schema without an enumeration allows every value."""
        before, after = old.get("enum"), new.get("enum")
        if before is None and after is None:
            return
        if before is None or after is None:
            listed = ", ".join(map(str, before or after or ()))
            is_breaking = (after is not None) == self._is_request
            words = "only" if self._is_request else "also other values than"
            text = f"{words if is_breaking else 'values'} {listed}"
            yield self._differ(is_breaking, "changed-values", subject, text)
            return
        removed = ", ".join(str(value) for value in before if value not in after)
        added = ", ".join(str(value) for value in after if value not in before)
        if removed:
            text = f"value {removed} is removed"
            yield self._differ(self._is_request, "removed-value", subject, text, kept=removed)
        if added:
            severity = Severity.COMPATIBLE if self._is_request else Severity.NOTICE
            text = f"{subject}: value {added} is added in {self._place}"
            way = find_way(self.direction, "added-value")
            yield Difference(severity, "added-value", subject, text, way)

    def _judge_bound(self, name: str, before: Any, after: Any, subject: str) -> Difference:
        rises = before is None if name in LOWER_BOUNDS else after is None
        if before is not None and after is not None:
            rises = after > before
        narrower = rises == (name in LOWER_BOUNDS)
        change = f"{name} {_show(before)} → {_show(after)}"
        if self._is_request and narrower:
            kept = _describe_kept(name, before)
            return self._differ(True, "narrowed-bound", subject, change, kept=kept)
        if self._is_request or narrower:
            return self._differ(False, "changed-bound", subject, change)
        return Difference(
            Severity.NOTICE, "widened-bound", subject, f"{subject}: {change} in {self._place}"
        )

    def _judge_exact(self, name: str, before: Any, after: Any, subject: str) -> Difference:
        change = f"{name} {_show(before)} → {_show(after)}"
        is_breaking = bool(after if self._is_request else before)
        kept = _describe_kept(name, before)
        return self._differ(is_breaking, f"changed-{name}", subject, change, kept=kept)

    def _compare_fields(self, old: Schema, new: Schema, subject: str) -> Iterator[Difference]:
        before, after = old.get("properties", {}), new.get("properties", {})
        needed_before, needed = set(old.get("required", ())), set(new.get("required", ()))
        for name in dict.fromkeys((*before, *after, *sorted(needed_before | needed))):
            place = f"{subject}.{name}"
            if name in before and name not in after:
                yield self._differ(True, "removed-field", place, "is removed from", verb=True)
            elif name in after and name not in before:
                if self._is_request and name in needed:
                    text = "is new and required in"
                    yield self._differ(True, "added-required-field", place, text, verb=True)
                else:
                    yield self._differ(False, "added-field", place, "is added to", verb=True)
            else:
                if name in needed - needed_before:
                    rule, text = "newly-required-field", "is required in"
                    yield self._differ(self._is_request, rule, place, text, verb=True)
                elif name in needed_before - needed:
                    rule, text = "newly-optional-field", "may be missing from"
                    yield self._differ(not self._is_request, rule, place, text, verb=True)
                if name in before:
                    yield from self.compare(before[name], after[name], place)

    def _compare_other_fields(self, old: Schema, new: Schema, subject: str) -> Iterator[Difference]:
        """Fields that a schema does not name (``additionalProperties``)."""
        before, after = (
            True if each.get("additionalProperties") in (None, {}) else each["additionalProperties"]
            for each in (old, new)
        )
        if before == after:
            return
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from self.compare(before, after, f"{subject}.*")
        elif self._is_request and (after is False or before is True):
            text = "fields that it does not name are refused" if after is False else "are limited"
            yield self._differ(True, "refused-fields", subject, text)
        else:
            text = "other rules for unnamed fields"
            yield self._differ(False, "other-fields", subject, text)

    @property
    def _place(self) -> str:
        return self.direction.value

    def _differ(
        self,
        is_breaking: bool,
        rule: str,
        subject: str,
        text: str,
        *,
        kept: str = "",
        way: str = "",
        verb: bool = False,
    ) -> Difference:
        """A difference, breaking or compatible. ``way``: of the instruction; by default the rule.

        ``verb``: the text is a predicate of the subject.
        """
        whole = f"{subject} {text}" if verb else f"{subject}: {text} in"
        whole = f"{whole} {self._place}"
        if not is_breaking:
            return make_compatible(rule, subject, whole)
        instruction = find_way(self.direction, way or rule, kept)
        return Difference(Severity.BREAKING, rule, subject, whole, instruction)


def _find_cover(kind: str, kinds: Mapping[str, Any]) -> str:
    """The type among ``kinds`` that has all values of ``kind``; '' if there is none."""
    if kind in kinds:
        return kind
    if kind == "integer" and "number" in kinds:
        return "number"
    return ANY if ANY in kinds else ""


def _count_breaking(differences: Sequence[Difference]) -> tuple[int, int]:
    breaking = sum(each.severity is Severity.BREAKING for each in differences)
    return breaking, len(differences)


def _show(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "none" if value is None else str(value)


def _describe_kept(keyword: str, value: Any) -> str:
    return f"no {keyword}" if value is None else f"{keyword} {_show(value)}"
