"""The entry point: without the extra it says what to install."""

from __future__ import annotations

import sys

import pytest

from daicho_cli.__main__ import main


@pytest.mark.parametrize(
    ("missing", "error", "message"),
    [
        ("typer", SystemExit, r"pip install 'daicho\[cli\]'"),
        ("daicho.errors", ModuleNotFoundError, r"daicho\.errors"),
    ],
)
def test_a_missing_extra_is_named_and_any_other_missing_module_is_an_error(
    monkeypatch: pytest.MonkeyPatch, missing: str, error: type[BaseException], message: str
) -> None:
    monkeypatch.delitem(sys.modules, "daicho_cli.main", raising=False)
    monkeypatch.setitem(sys.modules, missing, None)  # it is not installed
    with pytest.raises(error, match=message):
        main()
