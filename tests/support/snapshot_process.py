"""A process that imitates Lambda SnapStart: it initialises, forks two copies, and lets them work.

Arguments: the address of a table's stub. The environment has the address of the credentials. It
prints one line of JSON: what the process and each copy did. It is a process without threads, as a
fork needs.
"""

from __future__ import annotations

import json
import os
import random
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex
from types import ModuleType
from typing import Any

Hook = Callable[[], None]


class Registry(ModuleType):
    """The package of Lambda's runtime with which hooks are registered."""

    def __init__(self) -> None:
        super().__init__("snapshot_restore_py")
        self.before: list[Hook] = []
        self.after: list[Hook] = []

    def register_before_snapshot(self, hook: Hook) -> None:
        """Run it before the snapshot."""
        self.before.append(hook)

    def register_after_restore(self, hook: Hook) -> None:
        """Run it in each copy."""
        self.after.append(hook)


class LazyApi:
    """Counts how often its routes are built."""

    def __init__(self) -> None:
        self.built = 0

    def build(self) -> None:
        """Build the routes."""
        self.built += 1


class Older:
    """Code that writes an older generation, and announced it."""

    is_announced = True

    def expire(self) -> None:
        """Announce again."""
        self.is_announced = False


def work(table: Any, api: LazyApi, older: Older) -> dict[str, Any]:
    """What a copy does in its first request."""
    from daicho.storage.item_key import ItemKey  # noqa: PLC0415

    table.get(ItemKey("copy", str(os.getpid())))
    return {
        "process": str(os.getpid()),
        "random": random.random(),
        "uuid": str(uuid.uuid4()),
        "secret": token_hex(),
        "built": api.built,
        "announced": older.is_announced,
        "sockets": count_sockets(),
    }


def count_sockets() -> int:
    """The open sockets of this process."""
    files = Path("/proc/self/fd").iterdir()
    return sum(each.is_symlink() and str(each.readlink()).startswith("socket:") for each in files)


def run_copy(hooks: list[Hook], answer: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Fork, run the hooks and answer a request; what the copy prints into a pipe."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        for hook in hooks:
            hook()
        os.write(writing, json.dumps(answer()).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        answered: dict[str, Any] = json.loads(pipe.read())
    os.waitpid(child, 0)
    return answered


def main(address: str) -> None:
    """Initialise, take the snapshot and restore it twice."""
    from daicho.handlers.wiring.snap_start import HOOKS, add_snapshot_hooks  # noqa: PLC0415
    from daicho.storage.table import open_table  # noqa: PLC0415

    registry = Registry()
    sys.modules[HOOKS] = registry
    table = open_table("daicho", endpoint=address, region="eu-west-1")
    api, older = LazyApi(), Older()
    add_snapshot_hooks(api, table, older)  # type: ignore[arg-type]
    for hook in registry.before:
        hook()
    initial = {"built": api.built, "sockets": count_sockets(), "random": random.getstate()[1][:3]}
    copies = [run_copy(registry.after, lambda: work(table, api, older)) for _ in range(2)]
    sys.stdout.write(json.dumps({"initial": initial, "copies": copies}))


if __name__ == "__main__":
    main(sys.argv[1])
