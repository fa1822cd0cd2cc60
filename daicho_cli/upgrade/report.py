"""What a version changes, as text."""

from __future__ import annotations

from collections.abc import Iterator

from daicho_cli.severity import Severity
from daicho_cli.upgrade.change import Area, find_worst
from daicho_cli.upgrade.trial import Comparison

HEADINGS = {Area.RESOURCES: "Resources", Area.GENERATIONS: "Generations", Area.API: "API"}
WIDTH = max(len(severity) for severity in Severity)


def format_comparison(comparison: Comparison, project: str) -> str:
    """The changes by area, the worst first, and then the changelog."""
    return "\n".join(_list_lines(comparison, project))


def summarise(comparison: Comparison) -> str:
    """One sentence: whether the upgrade can be made."""
    worst = find_worst(comparison.changes)
    number = sum(change.severity == worst for change in comparison.changes)
    if worst is Severity.DATA_LOSS:
        return f"{number} of the changes would lose data: the project stays at {comparison.current}"
    if worst is Severity.BREAKING:
        changes = "1 change is" if number == 1 else f"{number} changes are"
        return f"{changes} breaking: daicho upgrade --accept-breaking upgrades nevertheless"
    return "nothing is replaced, and no client breaks"


def _list_lines(comparison: Comparison, project: str) -> Iterator[str]:
    yield f"{project}: daicho {comparison.current} → {comparison.target}"
    for area, heading in HEADINGS.items():
        changes = [change for change in comparison.changes if change.area is area]
        yield f"\n{heading}{'' if changes else ': no change'}"
        for change in changes:
            yield f"  {change.severity:<{WIDTH}}  {change.sentence}"
    for version, text in comparison.changelog.items():
        yield f"\nChangelog of {version}\n"
        yield from (f"  {line}".rstrip() for line in text.splitlines())
    yield ""
