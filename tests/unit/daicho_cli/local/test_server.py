"""What is said when the local AWS cannot start."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from daicho_cli.local.instance import LocalError, LocalInstance
from daicho_cli.local.server import (
    PROGRAM,
    find_program,
    is_healthy,
    lock_instance,
    start,
)
from tests.support.repository import PROJECT


def test_a_taken_port_is_named_with_the_way_out(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(LocalError, match=rf"port {port} is taken .*PORT=\d+ make up"):
            start(LocalInstance(tmp_path, port, PROJECT))


def test_two_commands_do_not_work_in_one_folder(tmp_path: Path) -> None:
    place = LocalInstance(tmp_path, 4600, PROJECT)
    with (
        lock_instance(place),
        pytest.raises(LocalError, match="another command is at work"),
        lock_instance(place),
    ):
        pass


def test_a_machine_that_knows_localhost_by_ipv6_only_is_told_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("no address")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(LocalError, match=r"add the line 127\.0\.0\.1 localhost to /etc/hosts"):
        start(LocalInstance(tmp_path, 4600, PROJECT))


def test_a_program_whose_process_id_was_lost_is_found_and_stopped(tmp_path: Path) -> None:
    place, other = (LocalInstance(tmp_path / name, 4600, PROJECT) for name in ("a", "ab"))
    sleep = [sys.executable, "-c", "import time; time.sleep(60)", str(PROGRAM), str(place.folder)]
    with subprocess.Popen(sleep) as process:
        try:
            until = time.monotonic() + 10
            while find_program(place).pid is None and time.monotonic() < until:
                time.sleep(0.01)
            assert find_program(place).pid == process.pid
            assert find_program(other).pid is None
        finally:
            process.terminate()
    assert find_program(place).pid is None


def test_nothing_there_is_not_healthy(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        assert not is_healthy(LocalInstance(tmp_path, free.getsockname()[1], PROJECT))
