"""The report of a comparison, and the sentence at its end."""

from __future__ import annotations

import pytest
from packaging.version import Version

from daicho_cli.severity import Severity
from daicho_cli.upgrade.change import Area, Change
from daicho_cli.upgrade.command import is_accepted
from daicho_cli.upgrade.report import format_comparison, summarise
from daicho_cli.upgrade.trial import Comparison


def build(*severities: Severity) -> Comparison:
    return Comparison(
        Version("0.1.0"),
        Version("0.2.0"),
        [Change(Area.API, severity, "rule", "x", f"x {severity.name}") for severity in severities],
        {"0.2.0": "### Upgrading\n\n- Nothing."},
        b"{}",
    )


def test_changes_are_below_their_area_and_the_changelog_is_last() -> None:
    text = format_comparison(build(Severity.BREAKING, Severity.COMPATIBLE), "Shop")
    assert text == (
        "Shop: daicho 0.1.0 → 0.2.0\n"
        "\nResources: no change\n"
        "\nGenerations: no change\n"
        "\nAPI\n"
        "  breaking    x BREAKING\n"
        "  compatible  x COMPATIBLE\n"
        "\nChangelog of 0.2.0\n"
        "\n  ### Upgrading\n\n  - Nothing.\n"
    )


@pytest.mark.parametrize(
    ("severities", "summary", "accepted"),
    [
        ([], "nothing is replaced, and no client breaks", (True, True)),
        ([Severity.NOTICE], "nothing is replaced, and no client breaks", (True, True)),
        ([Severity.BREAKING, Severity.NOTICE], "1 change is breaking: ", (False, True)),
        ([Severity.BREAKING, Severity.BREAKING], "2 changes are breaking: ", (False, True)),
        ([Severity.BREAKING, Severity.DATA_LOSS], "stays at 0.1.0", (False, False)),
    ],
)
def test_what_may_be_accepted(
    severities: list[Severity], summary: str, accepted: tuple[bool, bool]
) -> None:
    comparison = build(*severities)
    assert summary in summarise(comparison)
    assert accepted == tuple(is_accepted(comparison, accept_breaking=b) for b in (False, True))
