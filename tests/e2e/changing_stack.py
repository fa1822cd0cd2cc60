"""A deployed stack of a project whose declarations change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from daicho_cli.local import lifecycle, welcome
from daicho_cli.local.instance import LocalInstance
from daicho_cli.local.lifecycle import deploy
from tests.e2e.api import client
from tests.e2e.redeployed import redeploy
from tests.support.changing_project import ChangingProject
from tests.support.dynoxide import free_port


@dataclass(frozen=True)
class ChangingStack:
    """The project, and the local AWS on which it is deployed."""

    changing: ChangingProject
    instance: LocalInstance

    @classmethod
    @contextmanager
    def start(cls, changing: ChangingProject) -> Iterator[ChangingStack]:
        """Start a local AWS with the project; its data is gone at the end."""
        project = changing.project
        instance = LocalInstance(project.root / ".local", free_port(), project)
        try:
            lifecycle.up(instance, print)
            yield cls(changing, instance)
        finally:
            lifecycle.reset(instance, print)

    @contextmanager
    def open_client(self) -> Iterator[httpx.Client]:
        """A client of the API, with a tenant's token."""
        with client(self.instance.stack(), "acme") as api:
            yield api

    def deploy(self) -> None:
        """What `make up` does with changed declarations."""
        outputs = deploy(self.instance)
        self.instance.write_stack(welcome.describe(self.instance, outputs))

    def deploy_code_only(self) -> None:
        """Give every function the code of the project as it is, and nothing else."""
        names = self.instance.stack()["functions"].values()
        redeploy(self.functions, names, {}, self.changing.project)

    @property
    def functions(self) -> Any:
        """A client of Lambda."""
        return self.instance.session().client("lambda", endpoint_url=self.instance.endpoint)

    def list_code(self) -> dict[str, tuple[str, str]]:
        """The code and the lock file of each function but the one that checks."""
        names = {**self.instance.stack()["functions"]}
        del names["release"]
        found = {}
        for name, function in names.items():
            settings = self.functions.get_function_configuration(FunctionName=function)
            lock_file = settings["Environment"]["Variables"]["LOCK_FILE"]
            found[name] = (settings["CodeSha256"], lock_file)
        return found
