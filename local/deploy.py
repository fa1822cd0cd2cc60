"""The real CDK command line, pointed at the local AWS."""

from __future__ import annotations

import json
import subprocess

from botocore.exceptions import ClientError

from local.instance import ACCOUNT, PROGRAMS, REGION, ROOT, LocalError, LocalInstance
from local.process import read_tail

STACK = "Daicho-local"
CDK = ROOT / "node_modules/.bin/cdk"


def bootstrap(place: LocalInstance) -> None:
    """Run ``cdk bootstrap``, unless its stack exists."""
    if _has_stack(place, "CDKToolkit"):
        return
    # Without an app (-a ""): bootstrap does not need a synthesis.
    _cdk(place, "bootstrap", "-a", "", f"aws://{ACCOUNT}/{REGION}")


def deploy(place: LocalInstance, faults: float | None = None) -> dict[str, str]:
    """Run ``cdk deploy`` for the stage local; return its outputs.

    ``faults``: the share of the projector's writes that are to fail on purpose.
    """
    arguments = ("--require-approval", "never", "--outputs-file", str(place.outputs))
    context = (
        "-c",
        "stage=local",
        "-c",
        f"local_layer={PROGRAMS / 'layer'}",
        "-c",
        f"api_url={place.url}",
        *(("-c", f"faults={faults}") if faults else ()),
    )
    output = ("--output", str(place.folder / "cdk.out"))
    _cdk(place, "deploy", STACK, *context, *output, *arguments)
    outputs: dict[str, str] = json.loads(place.outputs.read_text(encoding="utf-8"))[STACK]
    return outputs


def _has_stack(place: LocalInstance, name: str) -> bool:
    client = place.session().client("cloudformation", endpoint_url=place.endpoint)
    try:
        stacks = client.describe_stacks(StackName=name)["Stacks"]
    except ClientError:
        return False
    return any(stack["StackStatus"].endswith("_COMPLETE") for stack in stacks)


def _cdk(place: LocalInstance, command: str, *arguments: str) -> None:
    if not CDK.exists():
        raise LocalError(f"the CDK command line is not installed at {CDK}; start this by make up")
    place.logs.mkdir(parents=True, exist_ok=True)
    log = place.logs / f"cdk-{command}.log"
    with log.open("wb") as out:
        done = subprocess.run(
            [CDK, command, *arguments, "--ci", "--progress", "events"],
            cwd=ROOT,
            env=place.environment() | {"PYTHONPATH": str(ROOT / "functions")},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode != 0:
        raise LocalError(f"cdk {command} failed; its last lines ({log}):\n{read_tail(log)}")
