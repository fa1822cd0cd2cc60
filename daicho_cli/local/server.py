"""Starts and stops the local AWS, MiniStack, and other programs in the background."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from daicho_cli.local.environment import REGION
from daicho_cli.local.instance import LocalError, LocalInstance
from daicho_cli.local.saved_state import check_readable, check_saved

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
        self.record(process.pid)
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

    def adopt(self) -> None:
        """Find the program if it runs without the file of its process id."""
        for entry in Path("/proc").glob("[0-9]*"):
            pid = int(entry.name)
            if pid != os.getpid() and read_command(pid).rstrip().endswith(self.mark):
                self.folder.mkdir(parents=True, exist_ok=True)
                self.record(pid)

    def record(self, pid: int) -> None:
        """Remember the process id of the program."""
        self._pid_file.write_text(str(pid), encoding="ascii")

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


SECONDS_TO_ANSWER = 10
"""On a busy machine, a start that resumes work does not answer at once."""
SECONDS_TO_START = 60
SECONDS_TO_STOP = 120
PROGRAM = Path(__file__).with_name("emulator.py")


def find_program(instance: LocalInstance) -> Background:
    """MiniStack's process. One whose process id was lost is found by its command line."""
    process = Background("ministack", instance.logs, f"{PROGRAM} {instance.folder}")
    if process.pid is None:
        process.adopt()
    return process


@contextlib.contextmanager
def lock_instance(instance: LocalInstance) -> Iterator[None]:
    """Lock the folder, so that two commands do not start, stop or deploy at once.

    Raises:
        LocalError: another command has the lock.
    """
    instance.folder.mkdir(parents=True, exist_ok=True)
    with (instance.folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LocalError(f"another command is at work in {instance.folder}") from None
        yield


def start(instance: LocalInstance, meanwhile: Callable[[], object] = lambda: None) -> bool:
    """Start MiniStack unless it runs; True if it was started. ``meanwhile``: what to do then.

    Raises:
        LocalError: the port is taken, it runs on another port, or it does not start.
    """
    process = find_program(instance)
    if process.pid is not None:
        running = int((instance.folder / "port").read_text(encoding="ascii"))
        if running != instance.port:
            raise LocalError(
                f"it runs on port {running} already; to move it: make down, then "
                f"PORT={instance.port} make up"
            )
        _wait_until_healthy(instance, process)
        return False
    _check_name()
    _check_port(instance.port)
    check_readable(instance)
    python = instance.programs / "ministack/bin/python"
    if not python.exists():
        raise LocalError(f"MiniStack is not installed at {python}; start it by make up")
    # Functions that were killed have left their folders.
    shutil.rmtree(instance.data / "tmp", ignore_errors=True)
    for folder in ("state", "tmp"):
        (instance.data / folder).mkdir(parents=True, exist_ok=True)
    (instance.folder / "port").write_text(str(instance.port), encoding="ascii")
    process.start([python, PROGRAM, instance.folder], _settings(instance))
    meanwhile()
    _wait_until_healthy(instance, process)
    return True


def stop(instance: LocalInstance) -> bool:
    """Stop MiniStack cleanly, so that it saves its state; True if it ran.

    Raises:
        LocalError: something is not saved, and it still runs; or it has not saved all at its end.
    """
    process = find_program(instance)
    if process.pid is None:
        return process.stop(SECONDS_TO_STOP)
    state = read_health(instance)
    if state.get("why"):
        raise LocalError(
            f"{state['unsaved']:,} changes are not saved ({state['why']}). The local AWS still "
            "runs; make room, then make down again"
        )
    process.stop(SECONDS_TO_STOP)
    check_saved(instance)
    return True


def abandon(instance: LocalInstance) -> None:
    """Stop MiniStack, whether it can save its state or not: its data is to be forgotten."""
    find_program(instance).stop(SECONDS_TO_STOP)


def is_healthy(instance: LocalInstance) -> bool:
    """Whether MiniStack answers."""
    return bool(read_health(instance))


def read_health(instance: LocalInstance) -> dict[str, Any]:
    """What MiniStack found at its start, and what it has not saved; empty if it does not answer."""
    # Without a client for TLS, which takes longer to make than the local AWS to answer.
    connection = HTTPConnection("127.0.0.1", instance.port, timeout=SECONDS_TO_ANSWER)
    try:
        connection.request("GET", "/_ministack/health")
        answer = connection.getresponse()
        return dict(json.load(answer)["daicho"]) if answer.status == HTTPStatus.OK else {}
    except (OSError, HTTPException):
        return {}
    finally:
        connection.close()


def _settings(instance: LocalInstance) -> dict[str, str]:
    own_variables = {
        # The last one shortens the waits of state machines, for tests.
        name: os.environ[name]
        for name in ("PATH", "HOME", "LANG", "SFN_WAIT_SCALE")
        if name in os.environ
    }
    return {
        **own_variables,
        "GATEWAY_PORT": str(instance.port),
        "BIND_HOST": "127.0.0.1",
        "MINISTACK_REGION": REGION,
        "PERSIST_STATE": "1",
        "STATE_DIR": str(instance.data / "state"),
        "S3_DATA_DIR": str(instance.data / "tmp"),
        "TMPDIR": str(instance.data / "tmp"),
        # Listeners of unused services would take fixed ports.
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        # No Docker, even if it is installed: functions run in processes.
        "DOCKER_HOST": "unix:///nonexistent/docker.sock",
        "LOG_LEVEL": os.environ.get("LOG_LEVEL", "INFO"),
        "PYTHONDONTWRITEBYTECODE": "",
    }


def _check_name() -> None:
    """Check that the API's name leads to its address: some machines know localhost by IPv6 only."""
    try:
        found = socket.getaddrinfo("localhost", None, socket.AF_INET)
    except OSError:
        found = []
    if "127.0.0.1" not in {address[0] for *_, address in found}:
        raise LocalError(
            "localhost is not 127.0.0.1 on this machine, where the API will be: add the line "
            "127.0.0.1 localhost to /etc/hosts"
        )


def _check_port(port: int) -> None:
    until = time.monotonic() + SECONDS_TO_SHOW
    while not _is_free(port):
        # A process that was killed has its port for an instant longer than its command line.
        if time.monotonic() > until:
            raise LocalError(
                f"port {port} is taken by another program; choose another: "
                f"PORT={port + 34 if port < 65000 else 4600} make up"
            )
        time.sleep(0.05)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _wait_until_healthy(instance: LocalInstance, process: Background) -> None:
    until = time.monotonic() + SECONDS_TO_START
    while not is_healthy(instance):
        if process.pid is None:
            raise LocalError(f"MiniStack ended at its start:\n{process.last_words()}")
        if time.monotonic() > until:
            raise LocalError(
                f"MiniStack does not answer on port {instance.port}; see {process.log}"
            )
        time.sleep(0.1)
