"""How a schedule that fails is described: the command that replays it, and its shrunk story."""

from __future__ import annotations

import json
import shlex

from daicho.testing.schedules.running import run_schedule
from daicho.testing.schedules.shrinking import MAX_EVENTS, SHRINKING_S
from tests.delivery.schedules.profiles import BY_NAME
from tests.delivery.schedules.sources import build_named_schedule, get_named_builder
from tests.simulator.schedules.recorded_stories import Story, record_story


def build_replay_command(name: str, seed: int) -> str:
    """The command that plays one schedule of a profile or small world again."""
    return f"make delivery-soak PROFILE={shlex.quote(name)} SEED={seed} SCHEDULES=1"


def describe_failure(name: str, seed: int, seconds: float = SHRINKING_S) -> str:
    """The shrunk story of a seed that fails, and how to replay and to keep it.

    ``name``: of a profile or small world. ``seconds``: the time limit for shrinking.
    """
    schedule = build_named_schedule(name, seed)
    differences = run_schedule(schedule)
    if not differences:
        return f"{name} {seed} does not fail"
    story = record_story(get_named_builder(name), schedule.choices, differences, seconds)
    lines = [
        f"{name} {seed}: {differences[0]}",
        f"To replay it: {build_replay_command(name, seed)}",
        describe_size(story),
        *(f"  {line}" for line in story.lines),
    ]
    if name in BY_NAME:
        lines += [
            "To keep it, add this to tests/delivery/schedules/regressions.toml:",
            render_entry(name, "", story),
        ]
    return "\n".join(lines)


def describe_size(story: Story) -> str:
    """How long a story is, and whether it is longer than it should be."""
    text = f"Shrunk to {story.size} events, {len(story.chosen)} choices, {len(story.lines)} lines"
    if story.size > MAX_EVENTS:
        text += f" (more than {MAX_EVENTS} events: nothing shorter was found)"
    return f"{text}:"


def render_entry(profile: str, fault: str, story: Story) -> str:
    """An entry of ``regressions.toml``."""
    lines = [f"# {line}" for line in story.lines]
    lines += ["[[schedule]]", f"fault = {json.dumps(fault)}", 'why = ""']
    lines += [f"profile = {json.dumps(profile)}", f"event_count = {story.event_count}"]
    if story.events_before_fix is not None:
        lines.append(f"events_before_fix = {story.events_before_fix}")
    chosen = (f'"{name}" = {json.dumps(value)}' for name, value in story.chosen.items())
    return "\n".join([*lines, "[schedule.chosen]", *chosen])
