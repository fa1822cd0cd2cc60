"""Minutes in which the rollup raises the watermark of figures, and answers with it (rule 55)."""

from __future__ import annotations

from collections.abc import Sequence

from daicho.tally.watermark import LAG
from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.faults.simulated_lambda import UNLIMITED_SECONDS
from daicho.testing.schedules.event_owner import EventOwner, ScheduleParts
from daicho.testing.stack_settings import TABLE
from tests.simulator.faults.controlled_invocations import run_invocation
from tests.simulator.faults.warm_environments import keep_rollups_warm
from tests.simulator.oracle.watermarks import INSTANCES, FigureAnswers

PAUSES_S = ((60.0,) * 6, (60.0,) * 6, (1.0, 1.0, 31.0, 60.0, 31.0, 60.0))
"""Between rollups: two may begin almost at once."""
MAX_DELIVERIES = 4
QUARTER_S = 901.0
"""A shard without records gets a heartbeat."""


class WatermarkEvents(EventOwner):
    """The events, on one deployment. A profile names them by their methods.

    ``heartbeat_s``: the setting of the rollup. ``seconds``: the timeouts of rollups.
    """

    def __init__(self, parts: ScheduleParts, heartbeat_s: int, seconds: Sequence[float]) -> None:
        super().__init__(parts)
        self._seconds = seconds
        self._answers = FigureAnswers(parts.deployment, parts.simulated_lambda.unexpected)
        settings = {"HEARTBEAT_SECONDS": str(heartbeat_s)}
        parts.deployment.additional_settings.append(lambda _version: settings)
        parts.deployment.dynamodb.max_lag_s = LAG.total_seconds()
        keep_rollups_warm(parts)

    def pass_minutes(self) -> None:
        """Some minutes pass, each with a rollup; most records are delivered in between."""
        seconds = self._choices.pick(self._seconds)
        pauses = self._choices.pick(PAUSES_S)
        for pause in pauses[: self._choices.pick((1, 4, 6))]:
            if self._deployment.compute_max_wait() > pause:
                self._deployment.clock.advance(pause)
            self._note(f"{pause} seconds pass")
            for _ in range(self._choices.pick((MAX_DELIVERIES, MAX_DELIVERIES, 1, 0))):
                for ready in self._lambda.list_ready_shards():
                    run_invocation(self._lambda, *ready)
            self.read_figures()
            if self._lambda.is_crowded:
                continue
            process = self._lambda.start_detached("rollup", {})
            process.seconds = seconds
            if self._choices.draw_bool(0.8):
                while not (process.finished or process.is_overdue):
                    self._lambda.step_detached(process)
            self.read_figures()

    def finish(self) -> None:
        """Some quiet quarters of an hour pass without faults, in which everything is answered."""
        for _ in range(3):
            self._deployment.clock.advance(QUARTER_S)
            self._lambda.run_to_end("rollup", {})
            self._lambda.drain()
            self.read_figures()

    def read_figures(self) -> None:
        """Instances of the API answer with figures: some are overtaken by whatever comes next."""
        for _ in range(self._choices.pick((2, 3))):
            instance = self._choices.draw_number(INSTANCES)

            def work(process: SimulatedProcess, instance: int = instance) -> None:
                table = self._deployment.build_dependencies(process).table(TABLE)
                self._answers.answer(table, instance)

            answer = self._lambda.create_process("answer", work)
            answer.seconds = UNLIMITED_SECONDS
            answer.stop_faults()  # what fails is no answer
            self._lambda.detached.append(answer)
            if self._lambda.is_crowded or self._choices.draw_bool(0.8):
                while not answer.finished:
                    self._lambda.step_detached(answer)
