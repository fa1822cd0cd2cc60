"""The requests of a page, sent as it shows them: what they print is what the page shows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from tests.e2e.api import eventually
from tests.support.how_to_page import Block, HowToPage

VARYING = {"id", "created_at", "as_of", "type"}
"""Values that differ each time."""
SET_ID = re.compile(r"ID=\w+")


def follow_requests(page: HowToPage, run: Callable[[str], str], variables: dict[str, str]) -> int:
    """Send the requests of a page with ``variables``; how many answers were compared.

    ``ID`` becomes the one of the last answer, as the page describes.
    """
    compared = 0
    answer: Any = None
    for block, after in zip(page.blocks, (*page.blocks[1:], None), strict=True):
        for command in block.commands:
            if SET_ID.fullmatch(command.line):
                variables["ID"] = answer["id"]
            elif command.line.startswith("curl"):
                answer = _send(partial(run, command.line), after)
                compared += after is not None and after.language == "json"
    return compared


def _send(send: Callable[[], str], shown: Block | None) -> Any:
    """Send a request; again until its answer is the shown one: lists and figures follow later."""
    if shown is None or shown.language != "json":
        answer = json.loads(send())
        assert not answer.keys() >= {"type", "status"}, answer  # it is no problem document
        return answer
    expected = json.loads(shown.text)
    answer = eventually(lambda: json.loads(send()), lambda each: is_like(each, expected), 90)
    assert is_like(answer, expected), f"{answer}\n\n{shown.text}"
    return answer


def is_like(answer: Any, shown: Any) -> bool:
    """Whether an answer is the shown one, but for values that differ each time."""
    if isinstance(shown, dict):
        return (
            isinstance(answer, dict)
            and answer.keys() == shown.keys()
            and all(key in VARYING or is_like(answer[key], shown[key]) for key in shown)
        )
    if isinstance(shown, list):
        return (
            isinstance(answer, list)
            and len(answer) == len(shown)
            and all(map(is_like, answer, shown))
        )
    return bool(answer == shown)
