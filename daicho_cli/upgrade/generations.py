"""What a newer version does to the generations of a project whose declarations did not change.

A new generation is made when a version derives other items from the same declarations. An index
whose ``since`` becomes the new generation has new, empty keys: items are missing from it until
they are written again (docs/how-to/change-declarations-on-live-data.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from daicho_cli.severity import Severity
from daicho_cli.upgrade.change import Area, Change

KINDS = ("searches", "listings", "aggregates", "counters")
LedgerJson = Mapping[str, Any]
"""A lock file's content, as `Ledger.to_json` writes it."""


def compare_generations(before: LedgerJson, after: LedgerJson) -> list[Change]:
    """The changes from the ledger of a version to the one that a newer version would write."""
    return list(_compare(before["entities"], after["entities"]))


def _compare(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    for entity, generations in before.items():
        newer = {each["generation"]: each["plan"] for each in after.get(entity, ())}
        lost = [
            each["generation"]
            for each in generations
            if not _contains(newer.get(each["generation"]), each["plan"])
        ]
        if lost:
            numbers = ", ".join(map(str, lost))
            yield Change(
                Area.GENERATIONS,
                Severity.DATA_LOSS,
                "generation-lost",
                entity,
                f"{entity}: generation {numbers} is lost or changed, by which stored items are "
                "read",
            )
        added = [number for number in newer if number > generations[-1]["generation"]]
        if added:
            yield _describe_generation(entity, generations[-1]["plan"], max(added), newer)
    for entity in after.keys() - before.keys():
        yield Change(
            Area.GENERATIONS,
            Severity.NOTICE,
            "entity-added",
            entity,
            f"{entity} is an entity of the new version",
        )


def _describe_generation(
    entity: str, before: Mapping[str, Any], number: int, plans: Mapping[int, Mapping[str, Any]]
) -> Change:
    old, new = _list_since(before), _list_since(plans[number])
    retiring = _list_since(plans[number].get("retiring", {}))
    changed = [name for name, since in new.items() if name in old and since != old[name]]
    added = [name for name in new if name not in old]
    removed = [name for name in old if name not in new]
    effects = [
        *_list_names(
            "change (the earlier instance retires; it answers if the question is the same)",
            [name for name in changed if name in retiring],
        ),
        *_list_names(
            "answer 503 being-built until all items are included",
            [*(name for name in changed if name not in retiring), *added],
        ),
        *_list_names("removed (their rows remain)", removed),
    ]
    return Change(
        Area.GENERATIONS,
        Severity.BREAKING if effects else Severity.NOTICE,
        "generation-added",
        entity,
        f"{entity} gets generation {number}; "
        + ("; ".join(effects) or "no search, listing or figure starts again")
        + "; do not deploy the older version after an item was written",
    )


def _list_names(effect: str, names: Iterable[str]) -> Iterator[str]:
    if listed := ", ".join(names):
        yield f"{effect}: {listed}"


def _list_since(plan: Mapping[str, Any]) -> dict[str, int]:
    return {each["name"]: each["since"] for kind in KINDS for each in plan.get(kind, ())}


def _contains(newer: Any, older: Any) -> bool:
    """Whether a plan has all that an older form of it has: a newer version may add settings."""
    if isinstance(older, Mapping):
        return isinstance(newer, Mapping) and all(
            name in newer and _contains(newer[name], value) for name, value in older.items()
        )
    if isinstance(older, list):
        return (
            isinstance(newer, list)
            and len(newer) == len(older)
            and all(_contains(new, old) for new, old in zip(newer, older, strict=True))
        )
    return bool(newer == older)
