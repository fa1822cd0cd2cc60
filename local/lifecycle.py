"""`make up` and its opposites."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from local.demo import loader
from local.deploy import bootstrap, deploy
from local.instance import REGION, ROOT, LocalInstance
from local.process import Background
from local.server import find_program, lock_instance, start, stop
from local.users import list_admins, make_tokens

FUNCTION = "FunctionName"
"""The suffix of the outputs with function names."""
SECONDS_BETWEEN_SWEEPS = 3
SECONDS_TO_END_A_SWEEP = 60
Printer = Callable[[str], None]


def ttl_player(place: LocalInstance) -> Background:
    """The process that plays DynamoDB's TTL."""
    return Background("expiry", place.logs, f"local expire --every {SECONDS_BETWEEN_SWEEPS}")


def up(
    place: LocalInstance, say: Printer, *, with_demo: bool = True, faults: float | None = None
) -> None:
    """Start, deploy, and load; a step that is already done is skipped or costs little."""
    with lock_instance(place):
        if find_program(place).ended_by_itself:
            say("  The local AWS ended without make down: what it had not written down is lost.")
            say("  If something is odd now: make reset, then make up.")
        with _step(say, f"the local AWS on port {place.port}"):
            start(place)
        with _step(say, "cdk bootstrap"):
            bootstrap(place)
        with _step(say, "cdk deploy (stage local)"):
            outputs = deploy(place, faults)
        with _step(say, "users and tokens"):
            place.write_stack(describe(place, outputs))
            _start_ttl_player(place)
        if with_demo:
            with _step(say, "demo data"):
                loader.load(place, place.stack(), say)
    say(print_goodbye(place))


def describe(place: LocalInstance, outputs: dict[str, str]) -> dict[str, object]:
    """The content of the stack file."""
    functions = {
        output.removesuffix(FUNCTION).lower(): name
        for output, name in outputs.items()
        if output.endswith(FUNCTION)
    }
    return {
        "url": place.url,
        "tokens": make_tokens(place, outputs["UserPoolId"], outputs["UserPoolClientId"]),
        "admins": list_admins(place, outputs["UserPoolId"], outputs["UserPoolClientId"]),
        "table": outputs["TableName"],
        "bucket": outputs["ArchiveBucketName"],
        "archive_database": outputs["ArchiveDatabaseName"],
        "archive_table": outputs["ArchiveTableName"],
        "archive_workgroup": outputs["ArchiveWorkgroupName"],
        "failures": outputs["FailureBucketName"],
        "endpoint": place.endpoint,
        "region": REGION,
        "functions": functions,
        "user_pool": outputs["UserPoolId"],
        "client_id": outputs["UserPoolClientId"],
    }


def down(place: LocalInstance, say: Printer) -> None:
    """Stop everything; stored data and undelivered records remain."""
    with lock_instance(place):
        ttl_player(place).stop(SECONDS_TO_END_A_SWEEP)
        if find_program(place).pid is None:
            say("The local AWS does not run.")
            return
        with _step(say, "stopping the local AWS"):
            stop(place)
    say("Stopped. Data and undelivered stream records stay: make up goes on from here.")


def reset(place: LocalInstance, say: Printer) -> None:
    """Stop everything and remove the data; the installed programs remain."""
    with lock_instance(place):
        ttl_player(place).stop(SECONDS_TO_END_A_SWEEP)
        stop(place)
        for folder in (place.data, place.logs, place.folder / "cdk.out"):
            shutil.rmtree(folder, ignore_errors=True)
        for file in (place.stack_file, place.outputs, place.folder / "port"):
            file.unlink(missing_ok=True)
    say(f"Everything stored in {place.folder} is gone.")


def status(place: LocalInstance, say: Printer) -> None:
    """Print the running processes and their addresses."""
    pid = find_program(place).pid
    say(f"folder     {place.folder}")
    say(f"local AWS  {f'{place.endpoint} (process {pid})' if pid else 'stopped'}")
    player = ttl_player(place).pid
    say(f"TTL        {f'played (process {player})' if player else 'stopped'}")
    if place.stack_file.exists():
        say(f"API        {place.stack()['url']}")


def print_goodbye(place: LocalInstance) -> str:
    """The last output of `make up`: lines that work when pasted."""
    stack = place.stack()
    tenant, other = list(stack["tokens"])[:2]
    file = _render_relative(place.stack_file)
    read = f"""import json; print(json.load(open("{file}"))["tokens"]["{other}"])"""
    bearer = '-H "Authorization: Bearer $TOKEN"'
    calls = "\n".join(f'  curl -s {bearer} "$URL{path}"' for path in loader.CALLS)
    return f"""
Daicho is up. Paste:

  URL={stack["url"]}
  TOKEN={stack["tokens"][tenant]}

{calls}

That was {tenant}; {other} sees none of it:

  TOKEN=$({_render_relative(Path(sys.executable))} -c '{read}')

In {file}: both tokens (good for a day), the table, the bucket.
In a browser: {stack["url"]}/docs
To stop: make down"""


def _render_relative(path: Path) -> Path:
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def _start_ttl_player(place: LocalInstance) -> None:
    player = ttl_player(place)
    # Restarted each time: the name of the table and the code may have changed.
    player.stop(SECONDS_TO_END_A_SWEEP)
    command = [sys.executable, "-m", "local", "expire", "--every", str(SECONDS_BETWEEN_SWEEPS)]
    player.start(
        command,
        {
            **place.environment(),
            "DAICHO_LOCAL": str(place.folder),
            "PORT": str(place.port),
            "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "functions"))),
        },
    )


@contextmanager
def _step(say: Printer, what: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    say(f"  {what} … {time.monotonic() - began:.1f} s")
