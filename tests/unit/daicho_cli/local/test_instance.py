"""Which copy of the local AWS a command means."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from daicho_cli.local.calls import Call
from daicho_cli.local.instance import STANDARD_PORT, LocalError, LocalInstance
from daicho_cli.local.welcome import render_goodbye
from tests.support.repository import PROGRAMS, PROJECT, ROOT


def test_the_last_port_is_remembered(tmp_path: Path) -> None:
    assert LocalInstance.find({"DAICHO_LOCAL": str(tmp_path)}).port == STANDARD_PORT
    (tmp_path / "port").write_text("4601")
    assert LocalInstance.find({"DAICHO_LOCAL": str(tmp_path)}).port == 4601


def test_unnamed_it_is_the_folder_of_make() -> None:
    assert LocalInstance.find({"PORT": "4600"}).folder == PROGRAMS


@pytest.mark.parametrize(
    ("port", "message"), [("http", "must be a number"), ("80", "between 1024 and 65535")]
)
def test_a_wrong_port_is_named(port: str, message: str) -> None:
    with pytest.raises(LocalError, match=message):
        LocalInstance.find({"PORT": port})


def test_the_environment_reaches_no_real_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "secret")
    environment = LocalInstance(tmp_path, 4600, PROJECT).environment()
    assert not environment.keys() & {"AWS_PROFILE", "AWS_SESSION_TOKEN"}
    assert environment["AWS_ENDPOINT_URL"] == "http://127.0.0.1:4600"
    assert environment["AWS_ACCESS_KEY_ID"] == "test"


def test_the_stack_file_is_read_back_and_private(tmp_path: Path) -> None:
    place = LocalInstance(tmp_path, 4600, PROJECT)
    with pytest.raises(LocalError, match="run make up first"):
        place.stack()
    place.write_stack({"url": place.url, "tokens": {"acme": "secret"}})
    assert place.stack()["tokens"] == {"acme": "secret"}
    assert place.shell_file.read_text("utf-8") == f"URL={place.url}\nTOKEN=secret\n"
    for file in (place.stack_file, place.shell_file):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_is_printed_at_the_end_fits_80_columns_and_can_be_pasted(tmp_path: Path) -> None:
    place = LocalInstance(tmp_path / "Zoë's work", 4600, PROJECT)
    place.folder.mkdir()
    place.write_stack({"url": place.url, "tokens": {"acme": "x" * 900, "globex": "y" * 900}})
    calls = [Call("GET", "/artists?name=dav"), Call("GET", "/revenue?from=2026-11&step=day")]
    text = render_goodbye(place, [*calls, Call("POST", "/artists", {"name": "Zoë's"})], "")
    lines = [line for line in text.splitlines() if str(tmp_path) not in line]
    assert max(map(len, lines)) <= 80
    pasted = [line for line in text.partition("That was")[0].splitlines() if line[:2] == "  "]
    script = "\n".join(["curl() { echo ${@: -1}; }", *pasted, "TOKEN=$OTHER", "echo $TOKEN"])
    done = subprocess.run(
        ["bash", "-euc", script], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    *sent, token = done.stdout.splitlines()
    assert sent[:-1] == [f"{place.url}{call.path}" for call in calls]
    assert (json.loads(sent[-1]), token) == ({"name": "Zoë's"}, "y" * 900)


def test_another_node_on_the_path_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "node"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    path = LocalInstance(tmp_path, 4600, PROJECT).environment()["PATH"]
    assert shutil.which("node", path=path) == str(Path(sys.executable).with_name("node"))


def test_a_place_with_any_name_and_no_language_is_shown(tmp_path: Path) -> None:
    folder = tmp_path / "Zoë's 日記"
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-m", "daicho_cli.local", "status"],
        env={**kept, "DAICHO_LOCAL": str(folder)},
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    assert f"folder     {folder}" in done.stdout.decode()
