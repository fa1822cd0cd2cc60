"""Copies: entities whose items are copied into another entity, with another key (ADR 0123). Pure.

While an entity is copied, each write of an item writes its copy too. The generation that *switches*
ends this: the items are not written any more, but their copies are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from daicho.errors import DeclarationError
from daicho.plan.model import CopyPlan, EntityPlan
from daicho.runtime.frozen_dataclasses import dataclass


@dataclass(frozen=True)
class ItemCopy:
    """A copy of all items of an entity.

    ``source``: the entity. ``target``: the entity of the copies. ``since``: the generation of the
    source from which on each write of an item writes its copy. ``is_switched``: see the module.
    """

    source: str
    target: str
    since: int
    is_switched: bool

    @property
    def sentence(self) -> str:
        """What happens at the deployment, without a full stop."""
        if self.is_switched:
            return (
                f"{self.source} is switched to {self.target}: {self.target} is written, and writes "
                f"of {self.source} are refused for good"
            )
        return (
            f"{self.source} is copied to {self.target}: its routes answer 503 being-built until "
            f"daicho rebuild --copy {self.source} --to {self.target} is complete"
        )


def find_copies(plans: Mapping[str, Sequence[tuple[int, EntityPlan]]]) -> dict[str, ItemCopy]:
    """The copies that the newest generations declare, by source.

    ``plans``: of all generations of each entity, oldest first, with their numbers.
    """
    found: dict[str, ItemCopy] = {}
    for source, numbered in plans.items():
        declared = numbered[-1][1].copied_to
        if declared is None:
            continue
        since = numbered[-1][0]
        for number, plan in reversed(numbered):
            if plan.copied_to is None or plan.copied_to.entity != declared.entity:
                break
            if not plan.copied_to.switched or declared.switched:
                since = number
        found[source] = ItemCopy(source, declared.entity, since, declared.switched)
    return found


def check_copy_change(name: str, declared: CopyPlan | None, before: CopyPlan | None) -> None:
    """Check that a new generation may change the copy of an entity.

    Raises:
        DeclarationError: it was switched already, or is switched without having been copied.
    """
    if before is not None and before.switched and declared != before:
        raise DeclarationError(
            f"{name} was switched to {before.entity}, so its items are not up to date any more, "
            f"and cannot be used again. Keep its copied_to, or remove {name}"
        )
    if declared is not None and declared.switched:
        copied = None if before is None else before.entity
        if copied != declared.entity:
            raise DeclarationError(
                f"{name} is switched to {declared.entity} before its items were copied. Deploy "
                f'CopiedTo("{declared.entity}") first'
            )


def check_removed_sources(declared: Iterable[str], copies: Mapping[str, ItemCopy]) -> None:
    """Check that no entity was removed before its copy is switched.

    Raises:
        DeclarationError: the copies of a removed entity would remain read-only.
    """
    names = set(declared)
    for source, copy in copies.items():
        if source not in names and copy.target in names and not copy.is_switched:
            raise DeclarationError(
                f"{source} is removed, but {copy.target} is a copy of it that was not switched. "
                f'Deploy CopiedTo("{copy.target}", switched=True) in {source} first'
            )


def check_unchanged_items(
    copies: Iterable[ItemCopy], changed: Mapping[str, tuple[EntityPlan, EntityPlan]]
) -> None:
    """Check that no generation changes stored items, or their copies, apart from each other.

    The touch of an item that has a copy already does not write the copy.

    Args:
        copies: those that were declared before.
        changed: the plans before and after, of the entities that change.

    Raises:
        DeclarationError: an entity is migrated, or its expiry changes, before the switch.
    """
    for copy in copies:
        for name in (copy.source, copy.target):
            if copy.is_switched or name not in changed:
                continue
            before, after = changed[name]
            migrated = {each.name for each in after.migrations} - {
                each.name for each in before.migrations
            }
            if migrated or after.expires != before.expires:
                raise DeclarationError(
                    f"{name}: {', '.join(sorted(migrated)) or 'its expiry'} would change items of "
                    f"{copy.source} and not their copies, or the reverse. Switch to {copy.target} "
                    "first"
                )
