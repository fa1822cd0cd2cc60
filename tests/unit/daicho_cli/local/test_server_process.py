"""Programs in the background are found again, and only they."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from daicho_cli.local import lifecycle
from daicho_cli.local.server import Background, read_command

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
