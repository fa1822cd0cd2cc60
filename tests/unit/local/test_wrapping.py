"""A project's own handlers are above those of stage local."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from daicho.local.wrapping import load_handler


@pytest.mark.parametrize(
    ("source", "answer"),
    [
        ("from {library} import __getattr__", "local"),
        ("from {library} import handler as inner\n\nhandler = f'own {{inner}}'", "own local"),
    ],
)
def test_the_module_of_the_project_gets_the_handler_of_stage_local(
    source: str, answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = ModuleType("library_handlers.project")
    setattr(library, "__getattr__", lambda _name: "library")  # noqa: B010  # of a module
    monkeypatch.setitem(sys.modules, "library_handlers", ModuleType("library_handlers"))
    monkeypatch.setitem(sys.modules, library.__name__, library)
    (tmp_path / "own_handlers").mkdir()
    (tmp_path / "own_handlers/project.py").write_text(source.format(library=library.__name__))
    monkeypatch.syspath_prepend(tmp_path)
    environ = {"PROJECT_HANDLERS": "own_handlers"}

    def build(given: Any) -> Any:
        assert given is environ
        return "local"

    try:
        assert load_handler(library, build, environ) == answer
    finally:
        for name in ("own_handlers", "own_handlers.project"):
            sys.modules.pop(name, None)
