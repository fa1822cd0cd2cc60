"""The real CDK command line, pointed at the local AWS."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

from botocore.exceptions import ClientError

from daicho.plan import LOCK_FILE_NAME
from daicho_cli.local.instance import ACCOUNT, REGION, LocalError, LocalInstance
from daicho_cli.local.process import read_tail

CDK = "node/node_modules/.bin/cdk"
"""Below the folder of programs."""
NONE: Mapping[str, str] = {}


def bootstrap(instance: LocalInstance) -> None:
    """Run ``cdk bootstrap``, unless its stack exists."""
    if _has_stack(instance, "CDKToolkit"):
        return
    # Without an app (-a ""): bootstrap does not need a synthesis.
    _cdk(instance, "bootstrap", "-a", "", f"aws://{ACCOUNT}/{REGION}")


def deploy(
    instance: LocalInstance, faults: float | None = None, options: Mapping[str, str] = NONE
) -> dict[str, str]:
    """Run ``cdk deploy`` for the stage local; return its outputs.

    ``faults``: the share of the projector's writes that are to fail on purpose. ``options``: other
    context options of the deployment.
    """
    arguments = ("--require-approval", "never", "--outputs-file", str(instance.outputs))
    given = {
        "stage": "local",
        "local_layer": instance.programs / "layer",
        "local_ledger": copy_ledger(instance),
        "api_url": instance.url,
        **({"faults": faults} if faults else {}),
        **options,
    }
    context = [part for name, value in given.items() for part in ("-c", f"{name}={value}")]
    output = ("--output", str(instance.folder / "cdk.out"))
    _cdk(instance, "deploy", instance.stack_name, *context, *output, *arguments)
    content = json.loads(instance.outputs.read_text(encoding="utf-8"))
    outputs: dict[str, str] = content[instance.stack_name]
    return outputs


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
    client = instance.session().client("cloudformation", endpoint_url=instance.endpoint)
    try:
        stacks = client.describe_stacks(StackName=name)["Stacks"]
    except ClientError:
        return False
    return any(stack["StackStatus"].endswith("_COMPLETE") for stack in stacks)


def _cdk(instance: LocalInstance, command: str, *arguments: str) -> None:
    program = instance.programs / CDK
    if not program.exists():
        raise LocalError(f"the CDK command line is not installed at {program}: make up installs it")
    instance.logs.mkdir(parents=True, exist_ok=True)
    log = instance.logs / f"cdk-{command}.log"
    with log.open("wb") as out:
        process = subprocess.run(
            [program, command, *arguments, "--ci", "--progress", "events"],
            cwd=instance.project.root,
            env=instance.environment(),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if process.returncode != 0:
        raise LocalError(f"cdk {command} failed; its last lines ({log}):\n{read_tail(log)}")
