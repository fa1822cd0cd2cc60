"""Background programs: start them, find them again by their process id, stop them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from daicho_cli.local.instance import LocalError

LINES_TO_SHOW = 15
SECONDS_TO_SHOW = 2
PRIVATE_UMASK = 0o077
"""Files that a program makes can be read and written by their owner alone."""


@dataclass(frozen=True)
class Background:
    """A program in the background.

    ``mark`` is part of its command line: another program may have the same process id by now.
    """

    name: str
    folder: Path
    mark: str

    @property
    def log(self) -> Path:
        """The file of its output."""
        return self.folder / f"{self.name}.log"

    @property
    def pid(self) -> int | None:
        """Its process id, if it runs."""
        try:
            pid = int(self._pid_file.read_text(encoding="ascii"))
        except (FileNotFoundError, ValueError):
            return None
        return pid if self.mark in read_command(pid) else None

    @property
    def ended_by_itself(self) -> bool:
        """Whether it ended without being stopped: killed, crashed, or the machine went down."""
        return self._pid_file.exists() and self.pid is None

    def start(
        self,
        command: Sequence[str | Path],
        environment: Mapping[str, str],
        folder: Path | None = None,
    ) -> int:
        """Start it, free of this terminal; ``folder``: where it works.

        Only its owner can read the files that it makes: keys and data may be among them.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.log.exists():
            self.log.replace(self.log.with_suffix(".log.1"))
        with self.log.open("wb") as log:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                umask=PRIVATE_UMASK,
            )
        self._pid_file.write_text(str(process.pid), encoding="ascii")
        # A new program has no command line for an instant, and would seem not to run.
        until = time.monotonic() + SECONDS_TO_SHOW
        while self.pid is None and process.poll() is None and time.monotonic() < until:
            time.sleep(0.001)
        # The program is independent now; without this, Popen would warn that it still runs.
        process.returncode = 0
        return process.pid

    def stop(self, seconds: float) -> bool:
        """Ask it to end and wait; True if it ran. It is never killed: that would lose data.

        Raises:
            LocalError: the program did not end.
        """
        pid = self.pid
        if pid is None:
            self._pid_file.unlink(missing_ok=True)
            return False
        os.kill(pid, signal.SIGTERM)
        until = time.monotonic() + seconds
        while self.mark in read_command(pid):
            if time.monotonic() > until:
                raise LocalError(f"{self.name} (process {pid}) does not end; see {self.log}")
            time.sleep(0.1)
        self._pid_file.unlink(missing_ok=True)
        return True

    def last_words(self) -> str:
        """The end of its log."""
        return read_tail(self.log)

    @property
    def _pid_file(self) -> Path:
        return self.folder / f"{self.name}.pid"


def read_command(pid: int) -> str:
    """The command line of a process; empty if the process does not exist or has ended."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)  # a child that has ended is listed until its status is read
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        if Path("/proc/self/cmdline").exists():
            return ""
    else:
        return raw.replace(b"\0", b" ").decode(errors="replace")
    process = subprocess.run(
        ["/bin/ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return process.stdout


def read_tail(log: Path, lines: int = LINES_TO_SHOW) -> str:
    """The last lines of a log file."""
    try:
        return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
    except FileNotFoundError:
        return ""
