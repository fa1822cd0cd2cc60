"""References to models: built once, and only when they are needed."""

from __future__ import annotations

from typing import Any

from daicho.web.schema.model_refs import ModelRef, resolve_model


def test_equal_references_refer_to_one_model_that_is_built_once() -> None:
    built: list[Any] = []

    def build(*subjects: Any) -> object:
        built.append(subjects)
        return object()

    item = ModelRef(build, ("item",))
    page = ModelRef(build, (item,), is_page=True)
    assert built == []
    model = resolve_model(page)
    assert built == [("item",), (resolve_model(item),)]
    assert resolve_model(ModelRef(build, (ModelRef(build, ("item",)),), is_page=True)) is model
    assert len(built) == 2
