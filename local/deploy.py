"""The real CDK command line, pointed at the local AWS."""

from __future__ import annotations

import json
import subprocess

from botocore.exceptions import ClientError

from local.instance import ACCOUNT, PROGRAMS, REGION, ROOT, LocalError, LocalInstance
from local.process import read_tail

STACK = "Daicho-local"
CDK = ROOT / "node_modules/.bin/cdk"


def bootstrap(instance: LocalInstance) -> None:
    """Run ``cdk bootstrap``, unless its stack exists."""
    if _has_stack(instance, "CDKToolkit"):
        return
    # Without an app (-a ""): bootstrap does not need a synthesis.
    _cdk(instance, "bootstrap", "-a", "", f"aws://{ACCOUNT}/{REGION}")


def deploy(instance: LocalInstance, faults: float | None = None) -> dict[str, str]:
    """Run ``cdk deploy`` for the stage local; return its outputs.

    ``faults``: the share of the projector's writes that are to fail on purpose.
    """
    arguments = ("--require-approval", "never", "--outputs-file", str(instance.outputs))
    context = (
        "-c",
        "stage=local",
        "-c",
        f"local_layer={PROGRAMS / 'layer'}",
        "-c",
        f"api_url={instance.url}",
        *(("-c", f"faults={faults}") if faults else ()),
    )
    output = ("--output", str(instance.folder / "cdk.out"))
    _cdk(instance, "deploy", STACK, *context, *output, *arguments)
    outputs: dict[str, str] = json.loads(instance.outputs.read_text(encoding="utf-8"))[STACK]
    return outputs


def _has_stack(instance: LocalInstance, name: str) -> bool:
    client = instance.session().client("cloudformation", endpoint_url=instance.endpoint)
    try:
        stacks = client.describe_stacks(StackName=name)["Stacks"]
    except ClientError:
        return False
    return any(stack["StackStatus"].endswith("_COMPLETE") for stack in stacks)


def _cdk(instance: LocalInstance, command: str, *arguments: str) -> None:
    if not CDK.exists():
        raise LocalError(f"the CDK command line is not installed at {CDK}; start this by make up")
    instance.logs.mkdir(parents=True, exist_ok=True)
    log = instance.logs / f"cdk-{command}.log"
    with log.open("wb") as out:
        process = subprocess.run(
            [CDK, command, *arguments, "--ci", "--progress", "events"],
            cwd=ROOT,
            env=instance.environment() | {"PYTHONPATH": str(ROOT / "functions")},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if process.returncode != 0:
        raise LocalError(f"cdk {command} failed; its last lines ({log}):\n{read_tail(log)}")
