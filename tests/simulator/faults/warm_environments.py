"""Execution environments that Lambda keeps between two invocations, with what their code remembers.

A rollup remembers which shards are retired (rule 48), and folds their slots in a later invocation
of the same environment. An environment runs one invocation at a time, has one version of the code,
and ends with a process that is killed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from daicho.handlers.wiring.invocation import Handler
from daicho.testing.choices import Choices
from daicho.testing.faults.processes import SimulatedProcess, get_running_process
from daicho.testing.schedules.event_owner import ScheduleParts

COLD_STARTS = 0.25
"""The share of invocations that get a new environment although one waits."""


class _CurrentProcess:
    """The process whose code runs at the moment: the clients of an environment act for it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(get_running_process(), name)

    def sleep(self, seconds: float) -> None:
        """Let time pass for the process that runs at the moment of the call."""
        if (process := get_running_process()) is not None:
            process.sleep(seconds)


_CURRENT_PROCESS: Any = _CurrentProcess()


class WarmEnvironments:
    """The environments of one function that wait for an invocation, by the version of their code.

    ``build``: wires the function up for the clients of a process and a version of the code.
    """

    def __init__(self, choices: Choices, build: Callable[[SimulatedProcess, int], Handler]) -> None:
        self._choices = choices
        self._build = build
        self._waiting: defaultdict[int, list[Handler]] = defaultdict(list)

    def run(self, event: Mapping[str, Any], process: SimulatedProcess) -> dict[str, Any]:
        """Run an invocation in an environment that waits, or in a new one."""
        handler = self._take(process.code_version)
        result = handler(event, process)
        # Not after a failure: then the environment has ended.
        self._waiting[process.code_version].append(handler)
        return result

    def _take(self, code_version: int) -> Handler:
        waiting = self._waiting[code_version]
        if not waiting or self._choices.draw_bool(COLD_STARTS):
            return self._build(_CURRENT_PROCESS, code_version)
        return waiting.pop(self._choices.draw_number(len(waiting)))


def keep_rollups_warm(parts: ScheduleParts) -> None:
    """Let rollups run in environments that stay warm."""
    build = partial(parts.deployment.build_handler, "rollup")
    parts.deployment.runners["rollup"] = WarmEnvironments(parts.deployment.choices, build).run
