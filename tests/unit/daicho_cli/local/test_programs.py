"""What the local AWS runs is installed once, and again when its pins change."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from daicho_cli.local import programs
from daicho_cli.local.instance import LocalError
from daicho_cli.local.programs import Program, find_tool, install_programs, is_outdated, run_tool


@pytest.fixture
def pins(tmp_path: Path) -> Path:
    path = tmp_path / "pins.txt"
    path.write_text("1")
    return path


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, pins: Path) -> list[str]:
    """The programs that were installed, in place of the real ones."""
    names: list[str] = []

    def install(name: str) -> Callable[[Path], None]:
        def make(folder: Path) -> None:
            folder.mkdir()
            names.append(name)

        return make

    some = (Program("one", (pins,), install("one")), Program("two", (), install("two")))
    monkeypatch.setattr(programs, "PROGRAMS", some)
    return names


def test_it_is_outdated_only_if_it_is_there_with_other_pins(
    tmp_path: Path, installed: list[str], pins: Path
) -> None:
    assert not is_outdated(tmp_path / "p", "one")
    install_programs(tmp_path / "p")
    assert not is_outdated(tmp_path / "p", "one")
    pins.write_text("2")
    assert is_outdated(tmp_path / "p", "one")
    assert not is_outdated(tmp_path / "p", "two")


def test_two_commands_at_once_install_it_once(tmp_path: Path) -> None:
    begun = Barrier(2)
    names: list[str] = []

    def make(folder: Path) -> None:
        names.append(folder.name)
        time.sleep(0.2)  # for so long the other command sees it missing
        folder.mkdir()

    def install() -> list[str]:
        begun.wait()
        return install_programs(tmp_path, [Program("one", (), make)])

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(install), pool.submit(install)
    assert sorted([first.result(), second.result()]) == [[], ["one"]]
    assert names == ["one"]


def test_a_tool_is_taken_from_beside_this_python() -> None:
    assert find_tool("uv") == str(Path(sys.executable).with_name("uv"))


def test_a_missing_tool_says_what_to_install() -> None:
    with pytest.raises(LocalError, match=r"no-such-tool is not installed: pip install 'daicho\["):
        find_tool("no-such-tool")


def test_a_failing_tool_shows_its_last_lines() -> None:
    message = r"bash -c failed; .*proxy.*:\nline 11\n(.*\n)*line 20$"
    with pytest.raises(LocalError, match=message):
        run_tool("/bin/bash", "-c", "for n in {1..20}; do echo line $n; done; exit 3")
