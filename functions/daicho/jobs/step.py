"""The steps of a job. The state machine repeats them until one of them is the last."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import field

from daicho.runtime.frozen_dataclasses import dataclass

SAVE_INTERVAL = dt.timedelta(seconds=5)
"""The longest stretch of work that is repeated after an interruption."""


@dataclass(frozen=True)
class JobStep:
    """The result of a step: whether the job is over for now, or how many seconds to wait.

    ``blocked``: whether somebody has to remove a cause. ``metrics``: of a job that ended.
    """

    done: bool
    wait: int = 0
    blocked: bool = False
    metrics: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """As the state machine reads it."""
        return {"done": self.done, "wait": self.wait}
