"""A schedule that fails is shrunk to a few events, told as a story, and replayed by a command."""

from __future__ import annotations

import pytest

from daicho.testing.choices import Choices
from daicho.testing.schedules.event_choices import PlannedChoices, RecordingChoices
from daicho.testing.schedules.profile import Profile
from daicho.testing.schedules.running import build_schedule, get_builder, run_schedule
from daicho.testing.schedules.schedule import Schedule
from daicho.testing.schedules.shrinking import MAX_EVENTS, MAX_LINES, shrink_schedule
from tests.delivery.schedules.failures import build_replay_command, describe_size
from tests.delivery.schedules.planted_copies import find_fault
from tests.delivery.schedules.planted_stories import render_row, shrink_planted
from tests.delivery.schedules.profiles import BY_NAME, PROFILES
from tests.delivery.schedules.sources import get_named_builder
from tests.simulator.schedules.named_choices import NarratingChoices, ReplayedChoices
from tests.simulator.schedules.recorded_stories import Story, count_events_before_fix, record_story
from tests.support.trials import IS_TRIAL


class TwoDraws:
    """Fails if a number below 50 is 30 or more, and an event draws 3 and then 7."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.log: list[str] = []

    def run(self) -> list[str]:
        level = self.choices.draw_number(50)
        drawn = []
        for _ in range(50):
            if self.choices.exhausted:
                break
            self.choices.begin_span()
            drawn.append((self.choices.draw_number(10), self.choices.pick("abcdefghij")))
            self.log.append(f"drew {drawn[-1]}")
        return ["drawn: 3 and h"] if level >= 30 and (3, "h") in drawn else []


def find_failing_draws() -> TwoDraws:
    return next(draws for seed in range(1000) if (draws := TwoDraws(Choices(seed))).run())


def test_shrinking_leaves_what_is_needed() -> None:
    draws = find_failing_draws()
    story = record_story(TwoDraws, draws.choices, ["drawn: "], seconds=20)
    assert story.lines == ["drew (3, 'h')", "drawn: 3 and h"]
    assert (story.size, list(story.chosen.values())) == (1, ["30", "3", "'h'"])


def test_without_time_the_whole_schedule_is_told() -> None:
    draws = find_failing_draws()
    story = record_story(TwoDraws, draws.choices, ["drawn: "], seconds=0)
    assert story.event_count == 51  # one of them only means that there could be more
    assert story.lines[-1] == "drawn: 3 and h"


def test_a_long_story_is_cut_in_the_middle() -> None:
    class Talkative(TwoDraws):
        def run(self) -> list[str]:
            self.log += [f"line {number}" for number in range(500)]
            return ["always"]

    story = record_story(Talkative, Choices(), ["always"], seconds=1)
    assert len(story.lines) == MAX_LINES + 1
    assert story.lines[MAX_LINES // 2] == "(401 lines are omitted)"
    assert (story.lines[0], story.lines[-1]) == ("line 0", "always")


@pytest.mark.parametrize("profile", PROFILES[:: 1 if IS_TRIAL else 4], ids=lambda each: each.name)
def test_a_plan_and_named_choices_are_the_schedule_that_was_recorded(profile: Profile) -> None:
    whole = build_schedule(profile, 7)
    whole.run()
    recorded = RecordingChoices(whole.choices.taken)
    Schedule(profile, recorded).run()
    plan = recorded.plan
    narration = NarratingChoices(plan)
    count, before_fix = len(plan.events), count_events_before_fix(plan)
    replayed = ReplayedChoices(narration.chosen, count, before_fix)
    logs = []
    for choices in (PlannedChoices(plan), narration, replayed):
        schedule = Schedule(profile, choices)
        assert run_schedule(schedule) == []
        logs.append(schedule.log)
    assert logs[0] == logs[1] == logs[2]


def test_events_after_the_fix_need_no_events_before_it() -> None:
    """Otherwise a story about a redrive after the fix would begin with 40 events."""
    whole = build_schedule(BY_NAME["redrive"], 1)
    whole.run()
    recorded = RecordingChoices(whole.choices.taken)
    Schedule(whole.profile, recorded).run()
    before_fix = count_events_before_fix(recorded.plan)
    assert before_fix is not None
    later = recorded.plan.events[before_fix:]
    planned = PlannedChoices(type(recorded.plan)(recorded.plan.setup, later, recorded.plan.ending))
    again = Schedule(whole.profile, planned)
    assert run_schedule(again) == []
    assert again.log[0].startswith("put ") or "the fix is deployed" in again.log
    # The choice of a longer loop belongs to an event before the fix.
    assert planned.event_count == min(len(later), 30)


@pytest.mark.parametrize(
    "name", ["<= in the aggregate", "a throttled fast vote is taken for counted"]
)
def test_a_schedule_that_finds_a_planted_fault_is_shrunk(name: str) -> None:
    shrunk = shrink_planted(find_fault(name), seconds=20)
    assert shrunk is not None
    assert shrunk.spans > shrunk.events
    assert 0 < shrunk.events <= MAX_EVENTS
    assert len(shrunk.lines) < 40
    assert render_row(find_fault(name), shrunk).count("|") == 9


def test_a_story_that_is_too_long_says_so() -> None:
    story = Story(MAX_EVENTS, None, 0, {}, ["put", "differs"])
    assert describe_size(story) == "Shrunk to 20 events, 0 choices, 2 lines:"
    story = Story(MAX_EVENTS, None, 1, {}, ["put", "differs"])
    assert "more than 20 events" in describe_size(story)


def test_a_failure_is_replayed_by_a_command() -> None:
    command = build_replay_command("archive redrive", 17)
    assert command == "make delivery-soak PROFILE='archive redrive' SEED=17 SCHEDULES=1"


def test_every_class_of_schedules_can_be_shrunk() -> None:
    """Shrinking a schedule that does not fail leaves it as it is."""
    for name in ("tallies", "likes", "mixed"):
        build = get_named_builder(name)
        plan = shrink_schedule(build, Choices(forced=[1, 2, 3]), ["none"], seconds=1)
        assert run_schedule(build(PlannedChoices(plan))) == []
    mixed = build_schedule(BY_NAME["mixed"], 1)
    assert run_schedule(get_builder(mixed)(Choices())) == []
