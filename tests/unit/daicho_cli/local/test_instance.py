"""Which copy of the local AWS a command means."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from daicho_cli.local.instance import STANDARD_PORT, LocalError, LocalInstance
from tests.support.repository import PROGRAMS, PROJECT


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
    assert "AWS_PROFILE" not in environment
    assert "AWS_SESSION_TOKEN" not in environment
    assert environment["AWS_ENDPOINT_URL"] == "http://127.0.0.1:4600"
    assert environment["AWS_ACCESS_KEY_ID"] == "test"


def test_the_stack_file_is_read_back_and_private(tmp_path: Path) -> None:
    place = LocalInstance(tmp_path, 4600, PROJECT)
    with pytest.raises(LocalError, match="run make up first"):
        place.stack()
    place.write_stack({"url": place.url, "tokens": {"acme": "secret"}})
    assert place.stack()["tokens"] == {"acme": "secret"}
    assert stat.S_IMODE(place.stack_file.stat().st_mode) == 0o600
