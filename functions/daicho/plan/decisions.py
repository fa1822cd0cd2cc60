"""What a developer decides about a new generation, and the check that each decision has an effect.

A misspelt name would otherwise make a generation in which nothing is different.
"""

from __future__ import annotations

from collections.abc import Iterable

from daicho.errors import DeclarationError
from daicho.runtime.frozen_dataclasses import dataclass


@dataclass(frozen=True)
class Decisions:
    """What a developer decided about a new generation. Names are ``Entity.declaration``.

    Attributes:
        recounted: aggregates that become new instances although nothing of them changed.
        superseded: declarations whose newest instance is given up before it was backfilled; the
            one before it continues to retire.
        reverted: entities whose declarations equal an earlier generation, and are to be a new one.
            Otherwise they are code that was rolled back, and nothing is added.
        disabled: declarations of which nothing retires any more, because the newest instance is
            backfilled in all stages; and migrations that end, because no stage has older items.
    """

    recounted: frozenset[str] = frozenset()
    superseded: frozenset[str] = frozenset()
    reverted: frozenset[str] = frozenset()
    disabled: frozenset[str] = frozenset()

    def list_names(self, entity: str) -> list[str]:
        """The declarations of an entity that are recounted, superseded or disabled."""
        decided = self.recounted | self.superseded | self.disabled
        return sorted(name for name in decided if _get_entity(name) == entity)

    def list_disabled(self, entity: str) -> list[str]:
        """The declarations and migrations of an entity that end, by name."""
        return sorted(
            name.partition(".")[2] for name in self.disabled if _get_entity(name) == entity
        )

    def check_entities(self, entities: Iterable[str]) -> None:
        """Check that each decision is about one of these entities; else DeclarationError."""
        known = set(entities)
        decided = self.recounted | self.superseded | self.disabled
        for name in sorted(self.reverted | {_get_entity(name) for name in decided}):
            if name not in known:
                raise DeclarationError(
                    f"{name} is no entity of this project. Its entities: {_join_names(known)}; "
                    "use one of these names"
                )

    def check_instances(
        self,
        entity: str,
        *,
        aggregates: Iterable[str],
        retiring: Iterable[str],
        replaced_again: Iterable[str],
    ) -> None:
        """Check that each decision about an entity has an effect.

        Args:
            entity: its name.
            aggregates: the names of those that it declares.
            retiring: the names of the declarations of which an instance retired until now.
            replaced_again: those of them whose newest instance is replaced now.

        Raises:
            DeclarationError: it names the declarations that can be decided.
        """
        for decided, what, declarations in (
            (self.recounted, "is no aggregate. The aggregates", aggregates),
            (self.disabled, "has no instance that retires. Those that have one", retiring),
            (
                self.superseded,
                "does not change while an instance of it retires. Those that do",
                replaced_again,
            ),
        ):
            known = {f"{entity}.{name}" for name in declarations}
            for name in sorted(decided - known):
                if _get_entity(name) == entity:
                    raise DeclarationError(
                        f"{name} {what}: {_join_names(known)}; "
                        "use one of these names, or leave this decision out"
                    )


NO_DECISIONS = Decisions()


def _get_entity(name: str) -> str:
    return name.partition(".")[0]


def _join_names(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
