"""A pytest plugin that records which functions of the library each test enters, and its seconds.

Used by `tests.matrix.fault_matrix`: a test that does not enter a function cannot find its faults.
The file that the environment variable `ENTERED_FUNCTIONS` names gets a line of JSON for each test,
and one without a test: what was entered while the tests were collected.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

FILE = "ENTERED_FUNCTIONS"
COLLECTION = ""
"""Stands for the test where the tests are only collected."""
LIBRARY = f"{os.sep}functions{os.sep}daicho{os.sep}"
_entered: set[CodeType] = set()


def _trace(frame: FrameType, event: str, argument: Any) -> None:
    """Record the code that is entered. Nothing inside it is traced."""
    if LIBRARY in frame.f_code.co_filename:
        _entered.add(frame.f_code)


def name_function(code: CodeType) -> str:
    """The name of a function of the library, as a fault's ``where`` has it."""
    path = code.co_filename.rpartition(LIBRARY)[2].removesuffix(".py")
    module = ".".join(("daicho", *Path(path).parts))
    return f"{module}:{code.co_qualname.replace('.<locals>', '')}"


@contextmanager
def _record(test: str) -> Iterator[None]:
    """Add a line for a test."""
    _entered.clear()
    threading.settrace(_trace)
    sys.settrace(_trace)
    began = time.monotonic()
    try:
        yield
    finally:
        sys.settrace(None)
        threading.settrace(None)
        names = sorted({name_function(code) for code in _entered})
        line = {"test": test, "seconds": time.monotonic() - began, "functions": names}
        with Path(os.environ[FILE]).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Record the collection: what the modules of the tests do when they are loaded."""
    with _record(COLLECTION):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Record one test, with its fixtures."""
    with _record(item.nodeid):
        return (yield)
