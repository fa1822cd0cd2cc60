"""Versions of the deployed code: which images each of them cannot process.

The library under test has one version. An older or newer one is simulated by images with a mark:
computing what they derive fails, exceeds the time limit, or ends the process, depending on the
version of the code that computes it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from daicho.derive import contributions, derived_items
from daicho.plan import EntityPlan
from daicho.storage.attributes import Image
from daicho.stream.time_limit import TimeLimit, TooLongError
from daicho.testing.faults.processes import SimulatedProcess, get_running_process

OLD_CODE, NEW_CODE, FIXED_CODE = 1, 2, 3
FIXED_RELEASES = 1_000
"""Versions from here on are fixed too: those of stream consumers with the ledger of a release."""
MARK = "bad"
"""The attribute that contains ``<kind>:<number>``."""
API_CALLER = "caller"
"""The name of a process that answers a request to the API. It can process all that it writes."""

POISON_FOR_OLD_CODE, POISON_FOR_NEW_CODE, POISON_FOR_BOTH = "old", "new", "ever"
POISON_SOMETIMES, KILLER, KILLER_AND_POISON = "late", "kills", "both"


class PoisonError(Exception):
    """Raised for an image that this version of the code cannot process."""


class MarkedImageLog:
    """The outcomes of computing each marked image: it succeeded, failed, or both.

    Only attempts of the projector count. A redrive that succeeds after a record was claimed does
    not show whether it was counted before.
    """

    def __init__(self) -> None:
        self._outcomes: defaultdict[str, set[str]] = defaultdict(set)

    def is_disputed(self, image: Image | None) -> bool:
        """Whether one attempt could compute an image that another could not."""
        return len(self._get_outcomes(image)) > 1

    def has_failed(self, image: Image | None) -> bool:
        """Whether an attempt could not compute an image."""
        return "failed" in self._get_outcomes(image)

    def compute(self, image: Image, process: SimulatedProcess) -> None:
        """Record that a process computes a marked image.

        Raises:
            PoisonError, TooLongError, ProcessKilled: the mark is for the version of the process.
        """
        mark = image[MARK]["S"]
        try:
            _fail_as_marked(mark.partition(":")[0], process)
        except (PoisonError, TooLongError) as failure:
            is_poison = isinstance(failure, PoisonError)
            process.fault_counts["poison" if is_poison else "deadline"] += 1
            self._record(mark, "failed", process)
            raise
        self._record(mark, "computed", process)

    def _get_outcomes(self, image: Image | None) -> set[str]:
        return self._outcomes.get((image or {}).get(MARK, {}).get("S", ""), set())

    def _record(self, mark: str, outcome: str, process: SimulatedProcess) -> None:
        if process.name == "project":
            self._outcomes[mark].add(outcome)


def is_fixed(version: int) -> bool:
    """Whether a version of the code can process every image."""
    return version == FIXED_CODE or version >= FIXED_RELEASES


def _fail_as_marked(kind: str, process: SimulatedProcess) -> None:
    version = process.code_version
    if is_fixed(version):
        return
    poison = {OLD_CODE: POISON_FOR_OLD_CODE, NEW_CODE: POISON_FOR_NEW_CODE}.get(version)
    if kind in (POISON_FOR_BOTH, poison):
        raise PoisonError(kind)
    if kind == POISON_SOMETIMES and process.choices.draw_bool(0.4):
        raise TooLongError
    if kind in (KILLER, KILLER_AND_POISON):
        process.fault_counts["killer" if kind == KILLER else "poison and killer"] += 1
        # At once, or after some of the batch's writes, or after all of them.
        if kind == KILLER_AND_POISON and process.choices.draw_bool(0.5):
            raise PoisonError(kind)
        if process.operations_until_death is None:
            process.die_after(process.choices.pick((0, 1, 2, 3, 5, 8)))


@contextmanager
def simulate_code_versions(marked_images: MarkedImageLog) -> Iterator[None]:
    """Let the code of processes fail as its version does. The test's own code never fails.

    The real time limit would fail whenever this machine is slow, so there is none.
    """

    def with_marks(compute: Callable[[EntityPlan, Image], Any]) -> Callable[..., Any]:
        def compute_marked(plan: EntityPlan, image: Image) -> Any:
            process = get_running_process() if MARK in image else None
            if process is not None and process.name != API_CALLER:
                marked_images.compute(image, process)
            return compute(plan, image)

        return compute_marked

    compute_rows = with_marks(derived_items.compute_index_rows)
    compute_amounts = with_marks(contributions.compute_contributions)
    with (
        mock.patch.object(derived_items, "compute_index_rows", compute_rows),
        mock.patch.object(contributions, "compute_contributions", compute_amounts),
        mock.patch.object(TimeLimit, "call", lambda _limit, work, *args: work(*args)),
    ):
        yield
