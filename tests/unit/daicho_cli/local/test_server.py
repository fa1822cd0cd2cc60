"""What is said when the local AWS cannot start, and how its programs are found again."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from daicho_cli.local import lifecycle
from daicho_cli.local.instance import LocalError, LocalInstance
from daicho_cli.local.server import (
    PROGRAM,
    Background,
    find_program,
    is_healthy,
    lock_instance,
    read_command,
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


SLEEP = "import time; time.sleep(60)"


def test_it_starts_runs_and_stops(tmp_path: Path) -> None:
    sleeper = Background("sleeper", tmp_path, SLEEP)
    assert not sleeper.stop(5)
    pid = sleeper.start([sys.executable, "-c", SLEEP], os.environ)
    assert sleeper.pid == pid
    assert sleeper.stop(10)
    assert not sleeper.stop(10)
    assert not sleeper.ended_by_itself


def test_its_last_words_are_kept(tmp_path: Path) -> None:
    talker = Background("talker", tmp_path, "print('too early')")
    talker.start([sys.executable, "-c", "print('too early')"], os.environ)
    while talker.pid is not None:
        time.sleep(0.01)
    assert talker.last_words() == "too early"
    assert talker.ended_by_itself


def test_only_its_owner_reads_the_files_that_it_makes(tmp_path: Path) -> None:
    code = "import os; os.makedirs('keys'); open('keys/signing.pem', 'w').close()"
    before = os.umask(0o022)
    try:
        maker = Background("maker", tmp_path, code)
        maker.start([sys.executable, "-c", code], os.environ, tmp_path)
        while maker.pid is not None:
            time.sleep(0.01)
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "keys/signing.pem").stat().st_mode & 0o777 == 0o600


def test_what_a_killed_command_has_started_is_ended_with_its_children(tmp_path: Path) -> None:
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SLEEP!r}])"
    parent = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    left = Background("cdk", tmp_path, "subprocess.run")
    left.record(parent.pid)
    children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
    while left.pid is None or not (child := children.read_text("ascii").split()):
        time.sleep(0.01)
    lifecycle._end_group(left)
    parent.wait()
    until = time.monotonic() + 10
    while SLEEP in read_command(int(child[0])) and time.monotonic() < until:
        time.sleep(0.01)
    assert SLEEP not in read_command(int(child[0]))
    lifecycle._end_group(left)  # nothing runs
