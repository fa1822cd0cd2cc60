"""The entry point: without the extra it says what to install."""

from __future__ import annotations

import sys

import pytest

from daicho_cli.__main__ import main


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Let a package be not installed, and the commands be not imported yet."""
    monkeypatch.delitem(sys.modules, "daicho_cli.main", raising=False)
    monkeypatch.setitem(sys.modules, request.param, None)


@pytest.mark.parametrize("missing", ["typer"], indirect=True)
@pytest.mark.usefixtures("missing")
def test_without_the_extra_one_sentence_says_what_to_install() -> None:
    with pytest.raises(SystemExit, match=r"pip install 'daicho\[cli\]'"):
        main()


@pytest.mark.parametrize("missing", ["daicho.errors"], indirect=True)
@pytest.mark.usefixtures("missing")
def test_another_missing_module_is_an_error_of_its_own() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"daicho\.errors"):
        main()
