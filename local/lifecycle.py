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


def ttl_player(instance: LocalInstance) -> Background:
    """The process that plays DynamoDB's TTL."""
    return Background("expiry", instance.logs, f"local expire --every {SECONDS_BETWEEN_SWEEPS}")


def up(
    instance: LocalInstance, say: Printer, *, with_demo: bool = True, faults: float | None = None
) -> None:
    """Start, deploy, and load; a step that is already done is skipped or costs little."""
    with lock_instance(instance):
        if find_program(instance).ended_by_itself:
            say("  The local AWS ended without make down: what it had not written down is lost.")
            say("  If something is odd now: make reset, then make up.")
        with _step(say, f"the local AWS on port {instance.port}"):
            start(instance)
        with _step(say, "cdk bootstrap"):
            bootstrap(instance)
        with _step(say, "cdk deploy (stage local)"):
            outputs = deploy(instance, faults)
        with _step(say, "users and tokens"):
            instance.write_stack(describe(instance, outputs))
            _start_ttl_player(instance)
        if with_demo:
            with _step(say, "demo data"):
                loader.load(instance, instance.stack(), say)
    say(print_goodbye(instance))


def describe(instance: LocalInstance, outputs: dict[str, str]) -> dict[str, object]:
    """The content of the stack file."""
    functions = {
        output.removesuffix(FUNCTION).lower(): name
        for output, name in outputs.items()
        if output.endswith(FUNCTION)
    }
    return {
        "url": instance.url,
        "tokens": make_tokens(instance, outputs["UserPoolId"], outputs["UserPoolClientId"]),
        "admins": list_admins(instance, outputs["UserPoolId"], outputs["UserPoolClientId"]),
        "table": outputs["TableName"],
        "bucket": outputs["ArchiveBucketName"],
        "archive_database": outputs["ArchiveDatabaseName"],
        "archive_table": outputs["ArchiveTableName"],
        "archive_workgroup": outputs["ArchiveWorkgroupName"],
        "failures": outputs["FailureBucketName"],
        "endpoint": instance.endpoint,
        "region": REGION,
        "functions": functions,
        "user_pool": outputs["UserPoolId"],
        "client_id": outputs["UserPoolClientId"],
    }


def down(instance: LocalInstance, say: Printer) -> None:
    """Stop everything; stored data and undelivered records remain."""
    with lock_instance(instance):
        ttl_player(instance).stop(SECONDS_TO_END_A_SWEEP)
        if find_program(instance).pid is None:
            say("The local AWS does not run.")
            return
        with _step(say, "stopping the local AWS"):
            stop(instance)
    say("Stopped. Data and undelivered stream records stay: make up goes on from here.")


def reset(instance: LocalInstance, say: Printer) -> None:
    """Stop everything and remove the data; the installed programs remain."""
    with lock_instance(instance):
        ttl_player(instance).stop(SECONDS_TO_END_A_SWEEP)
        stop(instance)
        for folder in (instance.data, instance.logs, instance.folder / "cdk.out"):
            shutil.rmtree(folder, ignore_errors=True)
        for file in (instance.stack_file, instance.outputs, instance.folder / "port"):
            file.unlink(missing_ok=True)
    say(f"Everything stored in {instance.folder} is gone.")


def status(instance: LocalInstance, say: Printer) -> None:
    """Print the running processes and their addresses."""
    pid = find_program(instance).pid
    say(f"folder     {instance.folder}")
    say(f"local AWS  {f'{instance.endpoint} (process {pid})' if pid else 'stopped'}")
    player = ttl_player(instance).pid
    say(f"TTL        {f'played (process {player})' if player else 'stopped'}")
    if instance.stack_file.exists():
        say(f"API        {instance.stack()['url']}")


def print_goodbye(instance: LocalInstance) -> str:
    """The last output of `make up`: lines that work when pasted."""
    stack = instance.stack()
    tenant, other = list(stack["tokens"])[:2]
    file = _render_relative(instance.stack_file)
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


def _start_ttl_player(instance: LocalInstance) -> None:
    player = ttl_player(instance)
    # Restarted each time: the name of the table and the code may have changed.
    player.stop(SECONDS_TO_END_A_SWEEP)
    command = [sys.executable, "-m", "local", "expire", "--every", str(SECONDS_BETWEEN_SWEEPS)]
    player.start(
        command,
        {
            **instance.environment(),
            "DAICHO_LOCAL": str(instance.folder),
            "PORT": str(instance.port),
            "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "functions"))),
        },
    )


@contextmanager
def _step(say: Printer, step: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    say(f"  {step} … {time.monotonic() - began:.1f} s")
