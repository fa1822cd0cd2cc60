"""The check of own declarations: random schedules of faults against a recomputation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass

from daicho.plan import Ledger
from daicho.testing.oracle.differences import list_entities_with_state
from daicho.testing.schedules.default_profiles import build_profiles
from daicho.testing.schedules.profile import Profile
from daicho.testing.schedules.running import build_schedules, get_builder, run_schedule
from daicho.testing.schedules.schedule import Schedule
from daicho.testing.schedules.shrinking import tell_story
from daicho.testing.simulated_entities import simulate_ledger

SCHEDULES = 200
SHRINKING_S = 30.0


class ExactnessError(AssertionError):
    """Derived state differs from its recomputation after a schedule.

    Attributes:
        seed: of the schedule.
        differences: in a line each.
        story: the events of the simplest schedule that differs in the same way, in a line each.
    """

    def __init__(
        self, seed: int, differences: Sequence[str], story: Sequence[str], repetition: str
    ) -> None:
        self.seed = seed
        self.differences = differences
        self.story = story
        lines = [
            f"derived state differs from its recomputation after the schedule of seed {seed}:",
            *(f"  {difference}" for difference in differences),
            "The simplest schedule that differs in the same way:",
            *(f"  {line}" for line in story),
            f"To repeat it: {repetition}",
        ]
        super().__init__("\n".join(lines))


@dataclass(frozen=True)
class FaultReport:
    """The result of schedules without differences.

    Attributes:
        schedules: the number of schedules that were played.
        entities: the entities that had derived items, tallies or archived items after a schedule.
        fault_counts: how often each fault occurred, by the names of `FAULT_KINDS`.
    """

    schedules: int
    entities: frozenset[str]
    fault_counts: Mapping[str, int]


def check_under_faults(
    ledger: Ledger,
    *,
    schedules: int = SCHEDULES,
    first_seed: int = 1,
    shrinking_seconds: float = SHRINKING_S,
) -> FaultReport:
    """Check that everything derived stays exact, whatever Lambda and DynamoDB do.

    Each schedule writes items of the declared entities at random, delivers their stream records
    to the real handlers, and injects faults. Records arrive twice, late and in other batches, or
    are poison. Processes end between two writes, responses are lost, requests are throttled or
    time out, and batches are discarded. There are redrives, and days pass.

    In the end it compares derived items, tallies, totals, rankings and the archive with a
    recomputation from the base items.

    The values of items are drawn by the types of their fields, so no test data is needed. The
    same seed is always the same schedule.

    Args:
        ledger: the generations of all entities, as `daicho.plan.Ledger.load` reads them.
        schedules: the number of schedules. About 100 take a second.
        first_seed: of the first schedule; the others have the seeds that follow.
        shrinking_seconds: the time limit for the search of the simplest schedule that differs.

    Raises:
        ExactnessError: something differs. It is an AssertionError with the seed and the story.
        ValueError: the ledger declares nothing that is derived or archived, or ``schedules`` or
            ``first_seed`` is less than 1.
    """
    __tracebackhide__ = True

    def describe_repetition(seed: int) -> str:
        return f"check_under_faults(ledger, schedules=1, first_seed={seed})"

    return _check(ledger, schedules, first_seed, shrinking_seconds, describe_repetition)


@dataclass(frozen=True, repr=False)
class FaultChecker:
    """The fixture ``daicho_faults``: `check_under_faults` of the project's own declarations.

    ``test``: its id for pytest. ``chosen_schedules`` and ``chosen_first_seed`` are options of the
    command line, which replace the arguments of a test.
    """

    ledger: Ledger
    test: str
    _: KW_ONLY
    chosen_schedules: int | None = None
    chosen_first_seed: int | None = None

    def check(
        self,
        *,
        schedules: int = SCHEDULES,
        first_seed: int = 1,
        shrinking_seconds: float = SHRINKING_S,
    ) -> FaultReport:
        """See `check_under_faults`.

        Raises:
            ExactnessError, ValueError: see `check_under_faults`.
        """
        __tracebackhide__ = True
        if self.chosen_schedules is not None:
            schedules = self.chosen_schedules
        if self.chosen_first_seed is not None:
            first_seed = self.chosen_first_seed

        def describe_repetition(seed: int) -> str:
            return f'pytest "{self.test}" --daicho-schedules 1 --daicho-first-seed {seed}'

        return _check(self.ledger, schedules, first_seed, shrinking_seconds, describe_repetition)


def _check(
    ledger: Ledger,
    count: int,
    first_seed: int,
    shrinking_seconds: float,
    describe_repetition: Callable[[int], str],
) -> FaultReport:
    __tracebackhide__ = True
    profiles = _build_profiles(ledger)
    if count < 1 or first_seed < 1:
        raise ValueError(f"schedules={count}, first_seed={first_seed}: both must be at least 1")
    entities: set[str] = set()
    fault_counts: Counter[str] = Counter()
    for schedule in build_schedules(profiles, count, first_seed):
        if differences := run_schedule(schedule):
            story = tell_story(
                get_builder(schedule), schedule.choices, differences, shrinking_seconds
            )
            repetition = describe_repetition(schedule.seed)
            raise ExactnessError(schedule.seed, differences, story, repetition)
        entities |= _list_entities(schedule)
        fault_counts += schedule.fault_counts
    return FaultReport(count, frozenset(entities), fault_counts)


def _build_profiles(ledger: Ledger) -> tuple[Profile, ...]:
    entities = simulate_ledger(ledger)
    if not entities.names:
        raise ValueError(
            "no entity of the ledger has a search, a list, an aggregate or an archive: "
            "there is nothing that could differ"
        )
    return build_profiles(entities)


def _list_entities(schedule: Schedule) -> set[str]:
    return list_entities_with_state(schedule.deployment, schedule.recompute())
