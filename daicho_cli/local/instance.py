"""A copy of the local AWS: its folder, its port, and the paths and URLs that follow from them."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daicho.project import Project
from daicho_cli.local.environment import REGION, build_environment, choose_home

if TYPE_CHECKING:
    import boto3

PROGRAMS = ".local"
"""The folder of a project for the programs and the data of its local AWS."""

ACCOUNT = "000000000000"
API_ID = "da1c40ed"
"""Pinned by a tag of the HTTP API at stage local: the URL is known before the deployment."""

STANDARD_PORT = 4566


QUICK_POLLS = (
    "--import=data:text/javascript,globalThis.setTimeout=new%20Proxy(setTimeout,{apply:"
    "(wait,self,[call,ms,...rest])=>wait(call,ms===5000?250:ms,...rest)})"
)
"""Lets the CDK's command line ask every 0.25 s whether a deployment has ended, instead of 5 s."""


class LocalError(Exception):
    """An error with a message for the user."""


@dataclass(frozen=True)
class LocalInstance:
    """One copy of the local AWS."""

    folder: Path
    port: int
    project: Project

    @classmethod
    def find(cls, environ: Mapping[str, str] = os.environ) -> LocalInstance:
        """The copy that ``DAICHO_LOCAL`` and ``PORT`` name; its last port, if none is named.

        Raises:
            LocalError: the port is none.
            ProjectError: the working folder is in no project.
        """
        project = Project.find(Path.cwd())
        named = environ.get("DAICHO_LOCAL") or project.root / PROGRAMS
        folder = Path(named).expanduser().absolute()
        port_text = environ.get("PORT") or _last_port(folder)
        try:
            port = int(port_text)
        except ValueError:
            raise LocalError(f"PORT is {port_text!r}; it must be a number") from None
        if not 1024 <= port <= 65535:
            raise LocalError(f"PORT is {port}; it must be between 1024 and 65535")
        return cls(folder, port, project)

    @property
    def programs(self) -> Path:
        """The programs of the local AWS; every copy of the project shares them."""
        return self.project.root / PROGRAMS

    @property
    def stack_name(self) -> str:
        """The stack that is deployed."""
        return f"{self.project.name}-local"

    @property
    def endpoint(self) -> str:
        """The local AWS. An IP address, not a name: so clients use path-style S3 URLs."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """The deployed API."""
        return f"http://localhost:{self.port}/_aws/execute-api/{API_ID}"

    @property
    def data(self) -> Path:
        """The data that `reset` removes, in addition to the log files."""
        return self.folder / "data"

    @property
    def logs(self) -> Path:
        """Log files and process ids."""
        return self.folder / "log"

    @property
    def stack_file(self) -> Path:
        """The file with all values that a client needs: see `write_stack`."""
        return self.folder / "stack.json"

    @property
    def shell_file(self) -> Path:
        """The file that a shell reads for ``URL`` and tokens: see `write_stack`."""
        return self.folder / "env"

    def environment(self) -> dict[str, str]:
        """The environment of programs that call only the local AWS."""
        return {
            **build_environment(os.environ),
            "HOME": choose_home(os.environ, self.folder),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ENDPOINT_URL_S3": self.endpoint,
            "CDK_DEFAULT_ACCOUNT": ACCOUNT,
            "CDK_DEFAULT_REGION": REGION,
            "CDK_DISABLE_CLI_TELEMETRY": "true",
            "NODE_OPTIONS": f"{os.environ.get('NODE_OPTIONS', '')} {QUICK_POLLS}".strip(),
            # It takes half of a synthesis; a deployment to an account does it.
            "CDK_VALIDATION": "false",
            # Containers set it; without compiled files, the CDK's packages take 10 s of each start.
            "PYTHONDONTWRITEBYTECODE": "",
        }

    @staticmethod
    @cache  # it reads the descriptions of a service once
    def session() -> boto3.Session:
        """A session of the local AWS; its clients take ``endpoint_url=instance.endpoint``."""
        import boto3  # noqa: PLC0415  # the local AWS can start meanwhile

        return boto3.Session("test", "test", region_name=REGION)

    def stack(self) -> dict[str, Any]:
        """The content of the stack file that `make up` wrote.

        Raises:
            LocalError: the stack has never been deployed.
        """
        try:
            content: dict[str, Any] = json.loads(self.stack_file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise LocalError(f"there is no {self.stack_file}; run make up first") from None
        return content

    def write_stack(self, stack: Mapping[str, Any]) -> None:
        """Write the stack file and the shell file; only the owner can read these tokens."""
        _write_private(self.stack_file, json.dumps(stack, indent=2) + "\n")
        names = ("URL", "TOKEN", "OTHER")
        values = zip(names, (stack["url"], *stack["tokens"].values()), strict=False)
        lines = [f"{name}={shlex.quote(value)}\n" for name, value in values]
        _write_private(self.shell_file, "".join(lines))


def _write_private(file: Path, text: str) -> None:
    """Write a file atomically."""
    draft = file.with_suffix(".tmp")
    draft.touch(0o600)
    draft.write_text(text, encoding="utf-8")
    draft.replace(file)


def _last_port(folder: Path) -> str:
    try:
        return (folder / "port").read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return str(STANDARD_PORT)
