"""`make up` and its opposites."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from botocore.exceptions import ClientError, WaiterError

from daicho.plan import LOCK_FILE_NAME
from daicho_cli.local.deployed import NONE, compute_digest, read_digest, write_digest
from daicho_cli.local.instance import LocalError, LocalInstance
from daicho_cli.local.programs import (
    LAYER,
    MINISTACK,
    PROGRAMS,
    install_programs,
    is_outdated,
    list_packages,
)
from daicho_cli.local.server import (
    Background,
    abandon,
    find_program,
    lock_instance,
    read_health,
    read_tail,
    start,
    stop,
)

CDK = "node/node_modules/.bin/cdk"
BOOTSTRAP = "node/node_modules/aws-cdk/lib/api/bootstrap/bootstrap-template.yaml"
"""Both are below the folder of programs."""
BOOTSTRAP_STACK = "CDKToolkit"
NO_OPTIONS: Mapping[str, str] = {}
NEVER_COMPLETE = (
    *("CREATE_IN_PROGRESS", "CREATE_FAILED"),
    *("ROLLBACK_IN_PROGRESS", "ROLLBACK_FAILED", "ROLLBACK_COMPLETE"),
)
"""States of a stack whose creation was not completed: nobody has stored anything in it."""


def bootstrap(instance: LocalInstance) -> None:
    """Deploy what ``cdk bootstrap`` does, unless it exists.

    Raises:
        LocalError: it failed.
    """
    if _has_stack(instance, BOOTSTRAP_STACK):
        return
    cloudformation = _open_cloudformation(instance)
    cloudformation.create_stack(
        StackName=BOOTSTRAP_STACK,
        TemplateBody=(instance.programs / BOOTSTRAP).read_text("utf-8"),
        # As the command does.
        Parameters=[
            {"ParameterKey": "FileAssetsBucketKmsKeyId", "ParameterValue": "AWS_MANAGED_KEY"}
        ],
        Capabilities=["CAPABILITY_NAMED_IAM"],
    )
    waits = {"Delay": 0.1, "MaxAttempts": 600}
    try:
        waiter = cloudformation.get_waiter("stack_create_complete")
        waiter.wait(StackName=BOOTSTRAP_STACK, WaiterConfig=waits)
    except WaiterError as error:
        raise LocalError(f"{error}: see {find_program(instance).log}") from error


def deploy(
    instance: LocalInstance, faults: float | None = None, options: Mapping[str, str] = NO_OPTIONS
) -> dict[str, str]:
    """Run ``cdk deploy`` for the stage local, unless it would change nothing; return its outputs.

    ``faults``: the share of the projector's writes that are to fail on purpose. ``options``: other
    context options of the deployment.
    """
    given = {
        "stage": "local",
        "local_layer": list_layer_folders(instance),
        "local_ledger": copy_ledger(instance),
        "api_url": instance.url,
        **({"faults": faults} if faults else {}),
        **options,
    }
    digest = compute_digest(instance, given)
    if read_digest(instance) != digest or not _has_stack(instance, instance.stack_name):
        write_digest(instance, NONE)
        context = [part for name, value in given.items() for part in ("-c", f"{name}={value}")]
        output = ("--output", str(instance.folder / "cdk.out"))
        # A change set would be made and compared for people who read it.
        arguments = (*context, *output, "--require-approval", "never", "--method", "direct")
        _cdk(instance, "deploy", instance.stack_name, *arguments)
        write_digest(instance, digest)
    (stack,) = _describe_stack(instance, instance.stack_name)
    return {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}


def list_layer_folders(instance: LocalInstance) -> str:
    """The folders with the packages of the functions, as a path of Python."""
    packages = [program.name for program in list_packages(instance.project)]
    return os.pathsep.join(str(instance.programs / name) for name in (LAYER, *packages))


def copy_ledger(instance: LocalInstance) -> Path:
    """Copy the lock file into a folder named by its content: the layer of the local AWS.

    Functions that are not updated keep the folder that they have.
    """
    content = instance.project.lock_file.read_bytes()
    folder = instance.folder / "ledgers" / hashlib.sha256(content).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / LOCK_FILE_NAME).write_bytes(content)
    return folder


def _has_stack(instance: LocalInstance, name: str) -> bool:
    return read_status(instance, name).endswith("_COMPLETE")


def read_status(instance: LocalInstance, name: str) -> str:
    """The status of a stack; "" if there is none."""
    return "".join(stack["StackStatus"] for stack in _describe_stack(instance, name))


def _open_cloudformation(instance: LocalInstance) -> Any:
    return instance.session().client("cloudformation", endpoint_url=instance.endpoint)


def _describe_stack(instance: LocalInstance, name: str) -> list[Any]:
    try:
        stacks = _open_cloudformation(instance).describe_stacks(StackName=name)
        return list(stacks["Stacks"])
    except ClientError:
        return []


def _cdk(instance: LocalInstance, command: str, *arguments: str) -> None:
    program = instance.programs / CDK
    if not program.exists():
        raise LocalError(f"the CDK command line is not installed at {program}: make up installs it")
    instance.logs.mkdir(parents=True, exist_ok=True)
    log = instance.logs / f"cdk-{command}.log"
    running = Background("cdk", instance.logs, str(program))
    _end_group(running)  # of a command that was killed: it would keep its lock
    with log.open("wb") as out:
        process = subprocess.Popen(
            # Without notices, which it would wait for behind a firewall that drops.
            [program, command, *arguments, "--ci", "--progress", "events", "--no-notices"],
            cwd=instance.project.root,
            env=instance.environment(),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        running.record(process.pid)
        try:
            process.wait()
        finally:
            _end_group(running)
    if process.returncode != 0:
        raise LocalError(f"cdk {command} failed; its last lines ({log}):\n{read_tail(log)}")


def _end_group(running: Background) -> None:
    """End a program and those that it has started, if it runs."""
    if (pid := running.pid) is not None:
        os.killpg(pid, signal.SIGTERM)
    running.stop(SECONDS_TO_END_CDK)


SECONDS_BETWEEN_SWEEPS = 3
SECONDS_TO_END_A_SWEEP = 60
SECONDS_TO_END_CDK = 20
Printer = Callable[[str], None]


def ttl_player(instance: LocalInstance) -> Background:
    """The process that simulates DynamoDB's TTL."""
    return Background(
        "expiry", instance.logs, f"daicho_cli.local expire --every {SECONDS_BETWEEN_SWEEPS}"
    )


def up(
    instance: LocalInstance,
    say: Printer,
    may_forget: Callable[[str], bool] = lambda _: False,
    *,
    with_sample: bool = True,
    faults: float | None = None,
    options: Mapping[str, str] = NO_OPTIONS,
) -> None:
    """Start, deploy, and load; a step that is already done is skipped or costs little.

    ``may_forget``: whether the data may be forgotten for a reason, which it is given as sentences.
    ``faults``, ``options``: see `deploy`.
    """
    with lock_instance(instance):
        was_killed = find_program(instance).ended_by_itself
        outdated = [name for name in (MINISTACK, LAYER) if is_outdated(instance.programs, name)]
        if outdated and find_program(instance).pid:
            raise LocalError(
                f"another version of {' and '.join(outdated)} is pinned: make down, then make up"
            )
        with _step(say, "programs of the local AWS"):
            install_programs(instance.programs, [*PROGRAMS, *list_packages(instance.project)])
        with _step(say, f"the local AWS on port {instance.port}"):
            start(instance, partial(_load_project, instance))
        if was_killed and (found := read_health(instance).get("found")):
            say(f"  It ended without make down, and has: {found}.")
        if reason := find_half_made(instance):
            if not may_forget(reason):
                raise LocalError(reason)
            with _step(say, "forgetting what was half made"):
                _forget(instance)
                start(instance)
        with _step(say, "cdk bootstrap"):
            bootstrap(instance)
        with _step(say, "cdk deploy (stage local)"):
            outputs = deploy(instance, faults, options)
        with _step(say, "users and tokens"):
            welcome = _load_project(instance)
            instance.write_stack(welcome.describe(instance, outputs))
            _start_ttl_player(instance)
        sample = welcome.find_sample_data(instance.project)
        if sample is not None and with_sample:
            with _step(say, "sample data"):
                sample.load(instance, instance.stack(), say)
        calls, answer = welcome.choose_calls(instance, sample)
    say(welcome.render_goodbye(instance, calls, answer))


def _load_project(instance: LocalInstance) -> ModuleType:
    """Import what takes seconds, while the local AWS starts."""
    from daicho_cli.local import welcome  # noqa: PLC0415

    instance.project.discover()
    return welcome


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
        _forget(instance)
        shutil.rmtree(instance.logs, ignore_errors=True)
        (instance.folder / "port").unlink(missing_ok=True)
    say(f"Everything stored in {instance.folder} is gone.")


def _forget(instance: LocalInstance) -> None:
    """Stop everything and remove the data."""
    ttl_player(instance).stop(SECONDS_TO_END_A_SWEEP)
    abandon(instance)
    for folder in (instance.data, *(instance.folder / name for name in ("cdk.out", "ledgers"))):
        shutil.rmtree(folder, ignore_errors=True)
    for file in (instance.stack_file, instance.shell_file):
        file.unlink(missing_ok=True)


def find_half_made(instance: LocalInstance) -> str:
    """Why the stack can neither be used nor deployed again, as sentences; "" if it can.

    Nothing is lost with such a stack: it was never complete, or the local AWS has forgotten it.
    """
    status = read_status(instance, instance.stack_name)
    if status in NEVER_COMPLETE:
        log = instance.logs / "cdk-deploy.log"
        return f"The stack was not completed: it is {status} (see {log})."
    return ""


def status(instance: LocalInstance, say: Printer) -> None:
    """Print the running processes and their addresses."""
    pid = find_program(instance).pid
    say(f"folder     {instance.folder}")
    say(f"local AWS  {f'{instance.endpoint} (process {pid})' if pid else 'stopped'}")
    player = ttl_player(instance).pid
    say(f"TTL        {f'played (process {player})' if player else 'stopped'}")
    if instance.stack_file.exists():
        say(f"API        {instance.stack()['url']}")


def _start_ttl_player(instance: LocalInstance) -> None:
    player = ttl_player(instance)
    # Restarted each time: the name of the table and the code may have changed.
    player.stop(SECONDS_TO_END_A_SWEEP)
    sweeping = ("expire", "--every", str(SECONDS_BETWEEN_SWEEPS))
    place = {"DAICHO_LOCAL": str(instance.folder), "PORT": str(instance.port)}
    player.start(
        [sys.executable, "-m", "daicho_cli.local", *sweeping],
        {**instance.environment(), **place},
        folder=instance.project.root,
    )


@contextmanager
def _step(say: Printer, step: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    say(f"  {step} … {time.monotonic() - began:.1f} s")
