"""Compare two OpenAPI documents: all changes of the contract, the worst first."""

from __future__ import annotations

from collections import defaultdict

from daicho_cli.contract.change import ContractChange, Difference
from daicho_cli.contract.forms import Document
from daicho_cli.contract.operations import ApiComparer
from daicho_cli.severity import Severity


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
        ContractChange(
            difference.severity,
            tuple(names),
            difference.rule,
            difference.subject,
            difference.text,
            difference.way,
        )
        for difference, names in operations.items()
    ]
    severities = list(Severity)
    return sorted(changes, key=lambda change: severities.index(change.severity))
