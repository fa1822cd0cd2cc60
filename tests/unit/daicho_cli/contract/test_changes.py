"""A change as a sentence and as JSON."""

from __future__ import annotations

from daicho_cli.contract.changes import ContractChange, Severity, join_names


def build(subject: str, *operations: str) -> ContractChange:
    return ContractChange(
        Severity.BREAKING, "rule", subject, "it differs", "undo it", operations=operations
    )


def test_a_sentence_names_three_operations() -> None:
    assert build("User.name", "GET /a").sentence == "it differs (GET /a)"
    assert build("User.name", *"abcd").sentence == "it differs (a, b, c and 1 more)"
    assert build("GET /a", "GET /a").sentence == "it differs"


def test_a_change_is_plain_json() -> None:
    assert build("User.name", "GET /a", "GET /b").to_json() == {
        "severity": "breaking",
        "breaking": True,
        "operations": ["GET /a", "GET /b"],
        "rule": "rule",
        "subject": "User.name",
        "text": "it differs",
        "way": "undo it",
    }


def test_many_names_are_counted() -> None:
    assert join_names("abc") == "a, b, c"
    assert join_names("abcdef", most=2) == "a, b and 4 more"
