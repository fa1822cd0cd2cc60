"""What the phases of tallies note between steps."""

from __future__ import annotations

from typing import Any


class TallyNotes:
    """What the phases note between steps, in the item of the job.

    ``stage``: of `TallyPhase`; ``place``: in the stage. ``lines``: how many there are; ``last``:
    the last object of their chain.
    ``partitions``: over how many they are spread. ``void``: why no sum is judged, or "".
    ``runaway``: the keys of slots. ``unreadable``: how the tallies begin that are not judged.
    ``kept``: aggregates whose kept parts were reported as undecided. ``faults``: by entity, or ""
    for all, why they are. ``archiver``: since when the run waits for it. ``rebuild``: the last
    rebuild before the archive was read. ``archived``:
    by entity, the first day of the archive. ``verified``: by entity, the day up to which it was
    verified.
    """

    def __init__(self, places: dict[str, Any]) -> None:
        self._notes = places.setdefault("tallies", {})

    def get(self, name: str, default: Any) -> Any:
        """A note."""
        return self._notes.get(name, default)

    def set(self, **notes: Any) -> None:
        """Change notes."""
        self._notes.update(notes)
