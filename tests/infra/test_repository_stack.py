"""The stack of this repository: a project's own domains may be deployed to production."""

from __future__ import annotations

from infra.stack import check_demonstration


def test_own_domains_are_no_demonstration() -> None:
    check_demonstration(["tickets", "shop"], allowed=False)
