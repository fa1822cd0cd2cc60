"""Random attribute values and expressions for requests to DynamoDB: valid, borderline and wrong."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")
Value = dict[str, Any]

NUMBERS = ("0", "1", "2", "-1", "2.50", "1e3", "10")
STRINGS = ("", "t", "te", "text", "é", "x", "y")
BINARIES = (b"", b"t", b"te", b"\x00\xff")
TYPES = ("S", "N", "B", "SS", "NS", "BS", "M", "L", "NULL", "BOOL")
BORDERLINE_NUMBERS = (
    *("1" * 38, "1" * 39, "1" + "0" * 38, "1." + "0" * 40, "0." + "0" * 125 + "12", "-0", "0e999"),
    *("9.9e125", "1e126", "-1e126", "1e-130", "1e-131", "+5", "007", "1E5", "5.", ".5", "1e+2"),
    *("", " 1", "1 ", "abc", "1_000", "NaN", "Infinity", "0x1", "1e", "\u0661", "--1", "1,5", "."),
)
BORDERLINE_VALUES: tuple[Value, ...] = (
    *({"N": number} for number in BORDERLINE_NUMBERS),
    *({"NS": [number, "7"]} for number in ("1" * 39, "x", "7", "7.0", "1e126")),
    {"NULL": False},
    {"SS": []},
    {"NS": []},
    {"BS": []},
    {"SS": ["a", "a"]},
    {"SS": [""]},
    {"BS": [b"a", b"a"]},
    {"BS": [b""]},
    {"L": []},
    {"M": {}},
    {"M": {"": {"S": "x"}}},
    {"M": {"k": {"SS": []}}},
    {"L": [{"N": "x"}]},
    {"L": [{"S": ""}, {"NULL": True}]},
    {},
    {"L": [{}]},
    {"S": "x", "N": "1"},
    {"M": {"k": {"S": "x", "BOOL": True}}},
)
NAMES = (
    "n",
    "n",
    "n",
    "s",
    "s",
    "l",
    "l",
    "m",
    "m",
    "ss",
    "ns",
    "bs",
    "b",
    "flag",
    "nothing",
    "absent",
)
RESERVED_NAMES = ("name", "Status", "DATA", "size", "ttl", "count", "hash", "in", "And", "zone")
MALFORMED_NAMES = (
    "_x",
    "_x",
    "1x",
    "_x",
    "a-b",
    "é",
    "s s",
    "#",
    "#undefined",
    ":n",
    "a.",
    ".a",
    "l[-1]",
    "l[]",
)
INDEX_KEYS = ("GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK")
NESTED_STEPS = (".k", ".l", "[0]", "[1]", "[9]", ".l[0]", ".k.k", ".absent", ".name", "[0][0]")
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
FUNCTIONS = (
    "attribute_exists",
    "attribute_not_exists",
    "attribute_type",
    "begins_with",
    "contains",
)
STRAY_TOKENS = (
    "AND",
    "OR",
    "NOT",
    "(",
    ")",
    ",",
    "=",
    "==",
    "!",
    "name",
    ":n",
    "size",
    "SET",
    "[0]",
)


def draw_nested_value(depth: int) -> Value:
    """A list in lists: DynamoDB takes 32 levels."""
    value: Value = {"S": "deep"}
    for _ in range(depth):
        value = {"L": [value]}
    return value


@dataclass
class ExpressionScope:
    """The random numbers of a request, and the placeholders that its expressions define."""

    rng: random.Random
    names: dict[str, str] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)

    def happens(self, probability: float) -> bool:
        """Whether something happens that has this probability."""
        return self.rng.random() < probability

    def pick(self, values: Sequence[T]) -> T:
        """One of some values."""
        return self.rng.choice(values)

    def define_name(self, name: str) -> str:
        """The placeholder of an attribute name."""
        placeholder = f"#n{len(self.names)}"
        self.names[placeholder] = name
        return placeholder

    def define_value(self, value: Value) -> str:
        """The placeholder of a value."""
        placeholder = f":v{len(self.values)}"
        self.values[placeholder] = value
        return placeholder

    # --- Values ------------------------------------------------------------------------------

    def draw_value(self, depth: int = 0) -> Value:
        """A value of any type; one in 33 is borderline."""
        if self.happens(0.03):
            if self.happens(0.05):
                return draw_nested_value(self.pick((31, 32, 33)))
            return self.pick(BORDERLINE_VALUES)
        kind = self.pick(("N", "N", "S", "S", *TYPES)) if depth < 2 else self.pick(("N", "S"))
        return self.draw_typed_value(kind, depth)

    def draw_typed_value(self, kind: str, depth: int = 0) -> Value:
        """A valid value of one type."""
        simple: dict[str, Callable[[], Any]] = {
            "S": lambda: self.pick(STRINGS),
            "N": lambda: self.pick(NUMBERS),
            "B": lambda: self.pick(BINARIES),
            "SS": lambda: self.rng.sample(("x", "y", "z"), self.rng.randint(1, 3)),
            "NS": lambda: self.rng.sample(("1", "2", "3.5"), self.rng.randint(1, 3)),
            "BS": lambda: self.rng.sample((b"x", b"y", b"t"), self.rng.randint(1, 3)),
            "NULL": lambda: True,
            "BOOL": lambda: self.happens(0.5),
            "L": lambda: [self.draw_value(depth + 1) for _ in range(self.rng.randint(0, 3))],
            "M": lambda: {name: self.draw_value(depth + 1) for name in self.rng.sample("kl", 2)},
        }
        return {kind: simple[kind]()}

    def draw_operand_value(self, name: str) -> str:
        """The placeholder of a value, most often of the type that the attribute has."""
        kinds = {"n": "N", "s": "S", "l": "L", "m": "M", "ss": "SS", "ns": "NS", "bs": "BS"}
        kind = kinds.get(name)
        typed = kind is not None and self.happens(0.7)
        return self.define_value(
            self.draw_typed_value(kind) if kind and typed else self.draw_value()
        )

    # --- Paths -------------------------------------------------------------------------------

    def draw_path(self) -> str:
        """A document path; some names are reserved or malformed."""
        if self.happens(0.008):
            return self.pick(RESERVED_NAMES)
        if self.happens(0.005):
            return self.pick(MALFORMED_NAMES)
        if self.happens(0.01):
            return self.pick(("PK", "SK", "GSI2PK", "GSI2SK", "copy"))
        name = self.pick(NAMES)
        text = self.define_name(name) if self.happens(0.2) else name
        if self.happens(0.5 if name in ("l", "m") else 0.03):
            step = self.pick(NESTED_STEPS[:7] if self.happens(0.9) else NESTED_STEPS)
            if step == ".k" and self.happens(0.3):
                step = f".{self.define_name(self.pick(('k', 'name', 'k.k')))}"
            text += step
        return text

    def draw_projection(self) -> str:
        """The paths of a projection."""
        return ", ".join(self.draw_path() for _ in range(self.rng.randint(1, 3)))

    # --- Conditions --------------------------------------------------------------------------

    def draw_condition(self, depth: int = 0) -> str:
        """A condition or filter."""
        kind = self.rng.random()
        if depth < 2 and kind < 0.25:
            parts = [self.draw_condition(depth + 1) for _ in range(self.rng.randint(2, 3))]
            joined = self.pick((" AND ", " OR ", " and ")).join(parts)
            return f"({joined})" if self.happens(0.4) else joined
        if depth < 3 and kind < 0.32:
            return f"{self.pick(('NOT', 'not'))} {self.draw_condition(depth + 1)}"
        if depth < 3 and kind < 0.36:
            return f"({self.draw_condition(depth + 1)})"
        if kind < 0.65:
            return self._draw_comparison()
        return self._draw_function()

    def _draw_operand(self, name: str = "") -> str:
        kind = self.rng.random()
        if kind < 0.15:
            return self.draw_path()
        if kind < 0.25:
            return f"size({self.draw_path()})"
        if kind < 0.255:
            return f"size({self.draw_operand_value(name)})"
        return self.draw_operand_value(name)

    def _draw_comparison(self) -> str:
        left = self.draw_path() if self.happens(0.85) else self._draw_operand()
        name = left.split(".")[0].split("[")[0]
        kind = self.rng.random()
        if kind < 0.7:
            right = left if self.happens(0.03) else self._draw_operand(name)
            return f"{left} {self.pick(COMPARISONS)} {right}"
        if kind < 0.85:
            low, high = self._draw_bounds(name)
            return f"{left} BETWEEN {low} AND {high}"
        count = self.rng.randint(1, 4)
        if self.happens(0.1):
            count = self.pick((0, 100, 101, 101))
        return f"{left} IN ({', '.join(self._draw_operand(name) for _ in range(count))})"

    def _draw_bounds(self, name: str) -> tuple[str, str]:
        if self.happens(0.2):
            return self._draw_operand(name), self._draw_operand(name)
        kind, numbers = self.pick(("N", "S")), sorted(self.rng.choices(range(12), k=2))
        if self.happens(0.05):
            numbers.reverse()
        texts = [str(number) if kind == "N" else "t" * (number + 1) for number in numbers]
        low, high = (self.define_value({kind: text}) for text in texts)
        return low, high

    def _draw_function(self) -> str:
        name = self.pick(FUNCTIONS)
        if self.happens(0.03):
            name = self.pick(("unknown", "size", "Contains", "if_not_exists", "list_append"))
        path = self.draw_path() if self.happens(0.96) else self._draw_operand()
        arguments = [path]
        if name == "attribute_type":
            kind = self.pick(TYPES) if self.happens(0.95) else self.pick(("X", "", "s"))
            arguments.append(
                self.define_value({"S": kind}) if self.happens(0.95) else self._draw_operand()
            )
        elif "exists" not in name:
            arguments.append(path if self.happens(0.02) else self._draw_searched_value(name))
        if self.happens(0.02):
            arguments = arguments[:-1] if self.happens(0.5) else [*arguments, self._draw_operand()]
        return f"{name}({', '.join(arguments)})"

    def _draw_searched_value(self, function: str) -> str:
        if self.happens(0.1):
            return self._draw_operand()
        kinds = ("S", "S", "B") if function == "begins_with" else ("S", "N", "B")
        return self.define_value(self.draw_typed_value(self.pick(kinds)))

    # --- Updates -----------------------------------------------------------------------------

    def draw_update(self) -> str:
        """An update with one or two clauses, which most often change different attributes."""
        verbs = self.rng.sample(("SET", "REMOVE", "ADD", "DELETE"), self.pick((1, 1, 2)))
        if self.happens(0.01):
            verbs.append(verbs[0])
        targets: set[str] = set()
        return " ".join(self._draw_clause(verb, targets) for verb in verbs)

    def _draw_clause(self, verb: str, targets: set[str]) -> str:
        actions = [self._draw_fresh_action(verb, targets) for _ in range(self.pick((1, 1, 2)))]
        return f"{verb if self.happens(0.95) else verb.lower()} {', '.join(actions)}"

    def _draw_fresh_action(self, verb: str, targets: set[str]) -> str:
        """An action on an attribute that the update does not change yet, most often."""
        while True:
            before = dict(self.names), dict(self.values)
            action = self._draw_action(verb)
            target = action.split(" ")[0].split(".")[0].split("[")[0]
            name = self.names.get(target, target)
            if name not in targets or self.happens(0.1):
                targets.add(name)
                return action
            self.names, self.values = before

    def _draw_action(self, verb: str) -> str:
        if verb == "REMOVE":
            return self.draw_path()
        if verb == "SET":
            inside = self.happens(0.15)
            path = self.pick(("m.k", "l[0]", "l[9]")) if inside else self.draw_path()
            if self.happens(0.05):
                path = self.pick(("GSI2PK", "GSI1SK", "PK") if self.happens(0.4) else INDEX_KEYS)
                wrong = self.happens(0.2)
                value = self.draw_value() if wrong else self.draw_typed_value("S")
                return f"{path} = {self.define_value(value)}"
            return f"{path} = {self._draw_sum(path)}"
        names = ("n", "ss", "ns", "bs") if verb == "ADD" else ("ss", "ns", "bs")
        name = self.pick(names)
        path = name if self.happens(0.9) else self.draw_path()
        if self.happens(0.9):
            return f"{path} {self.define_value(self.draw_typed_value(name.upper()))}"
        operand = self.draw_operand_value(name) if self.happens(0.9) else self.draw_path()
        return f"{path} {operand}"

    def _draw_sum(self, path: str) -> str:
        if self.happens(0.3):
            left = "n" if self.happens(0.6) else self._draw_number_operand()
            return f"{left} {self.pick('+-')} {self._draw_number_operand()}"
        if self.happens(0.03):
            return f"({self._draw_set_operand('n')})"
        return self._draw_set_operand(path)

    def _draw_number_operand(self) -> str:
        if self.happens(0.1):
            return self._draw_set_operand("n")
        number = self.define_value(self.draw_typed_value("N"))
        return f"if_not_exists(n, {number})" if self.happens(0.3) else number

    def _draw_set_operand(self, name: str, depth: int = 0) -> str:
        kind = self.rng.random()
        if depth < 2 and kind < 0.15:
            inner = self._draw_set_operand(name, depth + 1)
            return f"if_not_exists({self.draw_path()}, {inner})"
        if depth < 2 and kind < 0.25:
            first, second = self._draw_list_operand(depth), self._draw_list_operand(depth)
            return f"list_append({first}, {second})"
        if kind < 0.255:
            return self._draw_function()
        if kind < 0.35:
            return self.draw_path()
        return self.draw_operand_value(name)

    def _draw_list_operand(self, depth: int) -> str:
        if self.happens(0.4):
            return "l"
        if self.happens(0.1):
            return self._draw_set_operand("l", depth + 1)
        elements = self.define_value(self.draw_typed_value("L"))
        return f"if_not_exists(l, {elements})" if self.happens(0.3) else elements

    # --- Faults ------------------------------------------------------------------------------

    def break_text(self, text: str) -> str:
        """An expression with one token too many, missing or replaced; or none at all."""
        if self.happens(0.2):
            return self.pick(("", " ", "()", "%", text * 40))
        tokens = text.split(" ")
        place = self.rng.randrange(len(tokens))
        stray = self.pick(STRAY_TOKENS)
        replacement = self.pick(([], [tokens[place], stray], [stray], [f"({tokens[place]})"]))
        return " ".join((*tokens[:place], *replacement, *tokens[place + 1 :]))
