"""uv: what its answers mean. tests/upgrade runs the program itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from packaging.version import Version

from daicho_cli.local.instance import LocalError
from daicho_cli.upgrade import uv
from daicho_cli.upgrade.errors import UpgradeError


def answer(monkeypatch: pytest.MonkeyPatch, status: int, output: str = "", error: str = "") -> None:
    """Let uv end like this."""
    monkeypatch.setattr(
        subprocess,
        "run",
        lambda *_, **__: subprocess.CompletedProcess([], status, output, error),
    )


def test_the_newest_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answer(monkeypatch, 0, "--find-links /links\ndaicho==0.2.1\n")
    assert uv.find_newest(">=0.2", tmp_path) == Version("0.2.1")
    answer(monkeypatch, uv.NO_SOLUTION, error="No solution found")
    assert uv.find_newest(">=0.2", tmp_path) is None


def test_a_failure_of_uv_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answer(monkeypatch, 2, error="error: network\n  unreachable")
    with pytest.raises(
        UpgradeError, match=r"^uv cannot list the versions of daicho: error: network unreachable$"
    ):
        uv.find_newest("", tmp_path)
    answer(monkeypatch, 2)
    with pytest.raises(UpgradeError, match=r"pyproject\.toml is changed, and uv sync fails: uv en"):
        uv.synchronise(tmp_path)


def test_a_missing_uv_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(_: str) -> str:
        raise LocalError("uv is not installed: pip install 'daicho[local]'")

    monkeypatch.setattr(uv, "find_tool", fail)
    with pytest.raises(UpgradeError, match=r"^uv is not installed: pip install"):
        uv.find_newest("", tmp_path)
