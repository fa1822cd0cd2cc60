"""The API of a project, compared between two versions by its OpenAPI documents."""

from __future__ import annotations

from daicho_cli.contract.comparison import compare_descriptions
from daicho_cli.contract.forms import Document
from daicho_cli.upgrade.change import Area, Change


def compare_apis(before: Document, after: Document) -> list[Change]:
    """The changes of an API. The same difference of several operations is one change.

    A project that is upgraded does not change its declarations, so that the ways to keep a contract
    do not apply.
    """
    return [
        Change(Area.API, change.severity, change.rule, change.subject, change.sentence)
        for change in compare_descriptions(before, after)
    ]
