"""What was measured at one size, kept in a file: a run that is cut can go on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench.search.queries import Cost, Question

Random = tuple[float, int, bool]
"""Read units of a page, its rows, and whether more follows."""

Walked = tuple[Question, int, int, float]
"""A question paged to the end: pages, rows, read units of the dearest page."""


@dataclass(frozen=True)
class Asked:
    """One question at one size, as both answered it."""

    question: Question
    size: int
    ours: Sequence[Cost]
    theirs: Sequence[Cost]


@dataclass
class Measured:
    """Everything about one size."""

    asked: list[Asked] = field(default_factory=list)
    random: list[Random] = field(default_factory=list)
    walked: list[Walked] = field(default_factory=list)

    def questions(self) -> list[Question]:
        """What has been asked."""
        return [each.question for each in self.asked]

    def write(self, file: Path) -> None:
        """Keep it."""
        text = json.dumps(asdict(self), ensure_ascii=False, indent=1)
        file.write_text(text, encoding="utf-8")

    @classmethod
    def read(cls, file: Path) -> Measured:
        """Read what was kept."""
        data = json.loads(file.read_text("utf-8"))
        asked = [
            Asked(
                Question(**each["question"]),
                each["size"],
                [Cost(**cost) for cost in each["ours"]],
                [Cost(**cost) for cost in each["theirs"]],
            )
            for each in data["asked"]
        ]
        walked = [(Question(**question), *rest) for question, *rest in data["walked"]]
        return cls(asked, [tuple(each) for each in data["random"]], walked)
