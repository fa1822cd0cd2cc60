"""The measured values of one size in a file, so that an interrupted run can continue."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench.search.queries import Cost, Question

PageUnits = tuple[float, int, bool]
"""Read units of a page, its rows, and whether another page follows."""

FullWalk = tuple[Question, int, int, float]
"""A question with all its pages: pages, rows, read units of the dearest page."""


@dataclass(frozen=True)
class QuestionCosts:
    """One question at one size, with the costs of both searches."""

    question: Question
    size: int
    ours: Sequence[Cost]
    theirs: Sequence[Cost]


@dataclass
class Measurements:
    """All measured values of one size."""

    answers: list[QuestionCosts] = field(default_factory=list)
    random: list[PageUnits] = field(default_factory=list)
    walked: list[FullWalk] = field(default_factory=list)

    def questions(self) -> list[Question]:
        """The questions that were measured."""
        return [answer.question for answer in self.answers]

    def write(self, file: Path) -> None:
        """Write the values to a file."""
        data = asdict(self)
        data = {"asked": data.pop("answers"), **data}
        text = json.dumps(data, ensure_ascii=False, indent=1)
        file.write_text(text, encoding="utf-8")

    @classmethod
    def read(cls, file: Path) -> Measurements:
        """Read the values from a file."""
        data = json.loads(file.read_text("utf-8"))
        answers = [
            QuestionCosts(
                Question(**entry["question"]),
                entry["size"],
                [Cost(**cost) for cost in entry["ours"]],
                [Cost(**cost) for cost in entry["theirs"]],
            )
            for entry in data["asked"]
        ]
        walked = [(Question(**question), *rest) for question, *rest in data["walked"]]
        return cls(answers, [tuple(entry) for entry in data["random"]], walked)
