"""cfn-lint over a template: what CloudFormation would refuse, before anything is deployed."""

from collections.abc import Sequence
from pathlib import Path

REGIONS = ("us-east-1", "ap-northeast-1")
IGNORED = {
    "W3005": "a dependency that a reference implies already: harmless, and the CDK itself writes "
    "each function's on its role"
}
"""Rules that are not applied, with the reason."""


def lint(template: Path, regions: Sequence[str] = REGIONS) -> list[str]:
    """The findings of cfn-lint in some Regions: rule, place and message."""
    # It takes seconds to import: only who lints waits for it.
    from cfnlint.api import ManualArgs, lint_file  # noqa: PLC0415

    config = ManualArgs(regions=[*regions], ignore_checks=[*IGNORED])
    return [
        f"{found.rule.id} {'/'.join(map(str, found.path or ()))}: {found.message}"
        for found in lint_file(template, config=config)
    ]
