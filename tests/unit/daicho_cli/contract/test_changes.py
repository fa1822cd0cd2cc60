"""A change as a sentence and as JSON."""

from __future__ import annotations

from daicho_cli.contract.changes import ContractChange, Severity


def build(subject: str, *operations: str) -> ContractChange:
    return ContractChange(
        Severity.BREAKING, "rule", subject, "it differs", "undo it", operations=operations
    )


def test_a_sentence_names_three_operations() -> None:
    assert build("User.name", "GET /a").sentence == "it differs (GET /a)"
    assert build("User.name", *"abcd").sentence == "it differs (a, b, c and 1 more)"
    assert build("GET /a", "GET /a").sentence == "it differs"
