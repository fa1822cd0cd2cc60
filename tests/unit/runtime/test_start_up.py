"""Handlers are built on access, while no garbage is collected."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping

import pytest

from daicho.runtime.start_up import build_on_access


@pytest.fixture(autouse=True)
def unfrozen() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.enable()


def test_the_handler_is_built_once_and_its_objects_are_left_out_of_collections() -> None:
    built: list[bool] = []

    def build(_environ: Mapping[str, str]) -> str:
        built.append(gc.isenabled())
        return "handler"

    get_attribute = build_on_access("module", build)
    assert built == []
    assert [get_attribute("handler"), get_attribute("handler")] == ["handler"] * 2
    assert built == [False]
    assert gc.isenabled()
    assert gc.get_freeze_count() > 0
    with pytest.raises(AttributeError, match="module 'module' has no attribute 'other'"):
        get_attribute("other")
