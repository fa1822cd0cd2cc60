"""Every error of a declaration names what is wrong, the value, and what to write instead."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from daicho.plan import MigrationPlan
from daicho.plan.migrations import explain_lost

LIBRARY = Path(__file__).parents[2] / "functions/daicho"
VERBS = (
    *(
        "add",
        "allow",
        "annotate",
        "choose",
        "copy",
        "correct",
        "declare",
        "deploy",
        "end",
        "export",
    ),
    *("fill", "give", "import", "keep", "let", "mount", "move", "name", "put", "remove", "rename"),
    *("restore", "run", "switch", "undo", "use", "write"),
)
REMEDY = re.compile(rf"(?:[;:.,] |, or |otherwise )(?:{'|'.join(VERBS)})\b", re.IGNORECASE)
"""An instruction: a verb that begins a clause."""
EXAMPLE = re.compile(r": (?:\S+(?:: .+?)? = \w+\(|\w+=|(?:domain\.)?\w+\()")
"""What to write: a declaration, or an argument."""
KINDS = re.compile(r"\b(?:Key|Edge|Aggregate|Counter|Search|copied|ranking|Unique|Expires)\b")
"""The word of a declaration whose name is not known before the class is complete."""
OTHER_TEXTS = {
    "lost": explain_lost("User", MigrationPlan("split_name", 2, ("given_name",))),
    "explain_lost(plan.name, each)": explain_lost("User", MigrationPlan("split", 2, ("name",))),
}
"""What is raised where the message is not written at the raise itself."""
HELD_IN_VARIABLES = {"{hint}", "{_name_remedy(own, variant)}", "{_name_remedy(owner, variant)}"}
"""Placeholders that contain the remedy."""


@dataclass(frozen=True)
class Raised:
    """A message as it is in the code: its placeholders are expressions in braces."""

    place: str
    text: str

    def find_fault(self) -> str | None:
        """What the message lacks."""
        text = OTHER_TEXTS.get(self.text, self.text)
        if "{" not in text and text is self.text and not KINDS.search(text):
            return "it names neither a declaration nor a value"
        has_remedy = REMEDY.search(text) or EXAMPLE.search(text)
        if not has_remedy and not any(each in text for each in HELD_IN_VARIABLES):
            return "it has no remedy"
        return None


def list_raised(source: str, place: str) -> Iterator[Raised]:
    """The messages of all errors of declarations that a module makes."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id="DeclarationError"), args=[message]):
                yield Raised(f"{place}:{node.lineno}", render_message(message))


def render_message(message: ast.expr) -> str:
    match message:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(map(render_message, parts))
        case ast.FormattedValue(value=value):
            return f"{{{ast.unparse(value)}}}"
        case _:
            return ast.unparse(message)


RAISED = [
    raised
    for path in sorted(LIBRARY.rglob("*.py"))
    for raised in list_raised(path.read_text("utf-8"), str(path.relative_to(LIBRARY)))
]


def test_all_errors_name_the_remedy() -> None:
    assert len(RAISED) > 120
    faults = {raised: raised.find_fault() for raised in RAISED}
    assert [f"{r.place}: {fault}: {r.text}" for r, fault in faults.items() if fault] == []


def test_every_text_of_another_place_is_used() -> None:
    assert {raised.text for raised in RAISED} >= set(OTHER_TEXTS)


@pytest.mark.parametrize(
    ("raised", "fault"),
    [
        ('f"{key}: a salt needs shards"', "it has no remedy"),
        ('"that is wrong; use another"', "it names neither a declaration nor a value"),
        ('f"{name} means one thing to {one}, and another to the queries before"', "no remedy"),
        ("message", "it names neither"),
    ],
)
def test_a_message_without_a_remedy_is_found(raised: str, fault: str) -> None:
    (found,) = list_raised(f"raise DeclarationError({raised})", "here")
    assert fault in (found.find_fault() or "")
