"""The deployed local stack: a copy of its own, or the one that ``DAICHO_STACK`` names."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from daicho_cli.local import lifecycle
from daicho_cli.local.instance import LocalInstance
from tests.e2e.changing_stack import ChangingStack
from tests.support.changing_project import ChangingProject, render_kinds
from tests.support.dynoxide import free_port
from tests.support.repository import PROGRAMS, PROJECT, ROOT
from tests.support.trials import IS_TRIAL


@pytest.fixture(scope="session")
def place() -> Iterator[LocalInstance | None]:
    """The copy that was brought up for the tests; None if they run on another one.

    It has its own folder and port, so that the user's stays as it is. Its log files stay behind.
    Only a trial loads the sample data: the commands of the README do so in any case.
    """
    if os.environ.get("DAICHO_STACK"):
        yield None
        return
    place = LocalInstance(PROGRAMS / "e2e", free_port(), PROJECT)
    lifecycle.reset(place, print)
    with pytest.MonkeyPatch.context() as patch:
        # Jobs wait until whatever may still write has ended: here nothing writes that long.
        patch.setenv("SFN_WAIT_SCALE", "0.25")
        try:
            lifecycle.up(place, print, with_sample=IS_TRIAL)
            yield place
        finally:
            lifecycle.down(place, print)


@pytest.fixture(scope="session")
def stack(place: LocalInstance | None) -> dict[str, Any]:
    """The stack file: url, tokens, table, bucket, endpoint, region, functions."""
    if place is not None:
        return place.stack()
    given: dict[str, Any] = json.loads(Path(os.environ["DAICHO_STACK"]).read_text("utf-8"))
    return given


@pytest.fixture(scope="module")
def changing_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChangingStack]:
    """A stack of a project whose declarations change: the kinds of invoices, and the example.

    Each test leaves domain files that declare the newest generation, deployed or not. It ends with
    its module: a local AWS takes processor time even if nobody uses it.
    """
    example = (ROOT / "examples/invoices.py").read_text("utf-8")
    changing = ChangingProject.create(
        tmp_path_factory.mktemp("changing") / "invoices", {**render_kinds(), "invoices.py": example}
    )
    with ChangingStack.start(changing) as stack:
        yield stack
