"""The parameters of an event source mapping."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class MappingSettings:
    """The parameters of CreateEventSourceMapping, in seconds; -1 is no limit, 0 is no window.

    ``ParallelizationFactor`` is 1, as it must be with a tumbling window.

    Raises:
        ValueError: Lambda refuses a value.
    """

    batch_size: int = 100
    batching_window: int = 0
    tumbling_window: int = 0
    retries: int = -1
    maximum_age: int = -1
    bisect: bool = False
    report_failures: bool = False
    filters: tuple[str, ...] = ()
    starting_position: Literal["TRIM_HORIZON", "LATEST"] = "TRIM_HORIZON"
    function_arn: str = "arn:aws:lambda:us-east-1:000000000000:function:function"
    uuid: str = "00000000-0000-4000-8000-000000000000"

    def __post_init__(self) -> None:
        ranges = {
            "batch_size": (1, 10_000),
            "batching_window": (0, 300),
            "tumbling_window": (0, 900),
            "retries": (-1, 10_000),
            "maximum_age": (-1, 604_800),
        }
        for name, (lowest, highest) in ranges.items():
            if not lowest <= getattr(self, name) <= highest:
                raise ValueError(f"{name}: Lambda takes {lowest} to {highest}")
        if self.starting_position not in ("TRIM_HORIZON", "LATEST"):
            raise ValueError(f"{self.starting_position}: a DynamoDB stream has no such position")
