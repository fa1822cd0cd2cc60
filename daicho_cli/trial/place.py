"""The stack of a trial: in an account as the stage ``trial``, or on a local AWS of its own."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import boto3

from daicho_cli.aws import Stack, UndeployedError, describe_stack, name_stack, read_template
from daicho_cli.destroy import StackRemoval
from daicho_cli.local import lifecycle
from daicho_cli.local.environment import use_local_aws
from daicho_cli.local.instance import LocalInstance
from daicho_cli.project import find_project
from daicho_cli.smoke.target import find_target
from daicho_cli.terminal import CommandError

STAGE = "trial"
LOCAL_PORT = 4577
"""Of the local AWS of trials: not that of `make up`, whose data is the user's."""
POLL_S = 5.0
CHANGED, HANDLE, NEVER = "DAICHO_TRIAL", "TrialHandle", "TrialCondition"
KEPT_CHANGE = "functions that kept the change"
FAILING_S = 5
"""Seconds that CloudFormation waits for the signal that nobody sends."""


class TrialError(CommandError):
    """The trial cannot begin or continue."""


@dataclass(frozen=True)
class Place:
    """An account. ``region``: by default that of the environment. ``folder``: of log files."""

    folder: Path
    region: str | None = None
    report: Callable[[str], None] = print
    is_local: ClassVar[bool] = False

    @property
    def title(self) -> str:
        """The place, for the question before the start."""
        identity = boto3.client("sts", region_name=self.region).get_caller_identity()
        return f"account {identity['Account']}, {boto3.Session().region_name or self.region}"

    @cached_property
    def target(self) -> Stack:
        """The deployed stack."""
        return find_target(STAGE, Path(), region=self.region)

    def deploy(self) -> None:
        """Deploy the stage, or what of it is missing.

        Raises:
            TrialError: the deployment failed; the message names its log file.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        log = self.folder / "deploy.log"
        variables = {**os.environ, **({"AWS_REGION": self.region} if self.region else {})}
        options = f"STAGE={STAGE}", "CONTEXT=--require-approval never"
        with log.open("wb") as out:
            done = subprocess.run(  # noqa: S603  # no value of the network is among the arguments
                ["make", "deploy", *options],  # noqa: S607
                cwd=find_project().root,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                check=False,
            )
        if done.returncode:
            raise TrialError(f"make deploy {options[0]} failed: see {log}")

    def remove(self) -> None:
        """Remove the stack with all its data; nothing happens if there is none."""
        cloudformation = boto3.client("cloudformation", region_name=self.region)
        s3 = boto3.client("s3", region_name=self.region)
        try:
            StackRemoval(cloudformation, s3, name_stack(STAGE), self.report).run()
        except UndeployedError:
            self.report("no stack is left")

    def fail_deployment(self, name: str) -> dict[str, Any]:
        """Deploy a change of all functions that fails, and wait until it is rolled back.

        The change sets a variable of each function, and then waits for a signal that nobody sends.
        Returns how long it took, and in which state the stack is.
        """
        client, stack = self.target.open_client("cloudformation"), self.target.name
        template = read_template(client, stack)
        began = time.monotonic()
        client.update_stack(
            StackName=stack,
            TemplateURL=self._upload(json.dumps(break_template(template, name)), name),
            Capabilities=["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"],
            Parameters=[
                {"ParameterKey": key, "UsePreviousValue": True}
                for key in template.get("Parameters", {})
            ],
        )
        while (status := describe_stack(client, stack)["StackStatus"]).endswith("_IN_PROGRESS"):
            time.sleep(POLL_S / 5 if self.is_local else POLL_S)
        seconds = round(time.monotonic() - began)
        kept, functions = 0, self.target.open_client("lambda")
        for function in self.target.list_functions().values():
            found = functions.get_function_configuration(FunctionName=function)
            kept += CHANGED in found.get("Environment", {}).get("Variables", {})
        return {"seconds": seconds, "state of the stack": status, KEPT_CHANGE: kept}

    def _upload(self, body: str, name: str) -> str:
        """Store a template in the bucket of `cdk bootstrap`, and return its address."""
        toolkit = describe_stack(self.target.open_client("cloudformation"), "CDKToolkit")
        outputs = {each["OutputKey"]: each["OutputValue"] for each in toolkit["Outputs"]}
        s3, key = self.target.open_client("s3"), f"{name}.json"
        s3.put_object(Bucket=outputs["BucketName"], Key=key, Body=body.encode())
        place = self.target.endpoint or f"https://s3.{s3.meta.region_name}.amazonaws.com"
        return f"{place}/{outputs['BucketName']}/{key}"


@dataclass(frozen=True)
class LocalPlace(Place):
    """A local AWS in a folder of its own, without an account and without costs."""

    is_local = True

    @cached_property
    def instance(self) -> LocalInstance:
        """Its folder and port."""
        return LocalInstance(self.folder / "local", LOCAL_PORT, find_project())

    @property
    def title(self) -> str:
        """The place."""
        return "a local AWS"

    @cached_property
    def target(self) -> Stack:
        """The deployed stack."""
        use_local_aws()
        return find_target(None, self.instance.stack_file)

    def deploy(self) -> None:
        """Start it and deploy the stack."""

        def report(line: str) -> None:  # the steps, and not how to call the stack
            if "\n" not in line:
                self.report(line)

        lifecycle.up(self.instance, report, lambda _: True, with_sample=False)

    def remove(self) -> None:
        """Stop it and remove its data."""
        lifecycle.reset(self.instance, self.report)


def break_template(template: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A template that changes every function and then fails, so that all changes are rolled back.

    ``name``: the value of the variable that the functions would get.
    """
    broken: dict[str, Any] = json.loads(json.dumps(template))
    resources = broken["Resources"]
    functions = [id for id, each in resources.items() if each["Type"] == "AWS::Lambda::Function"]
    for id in functions:
        properties = resources[id].setdefault("Properties", {})
        properties.setdefault("Environment", {}).setdefault("Variables", {})[CHANGED] = name
    resources[HANDLE] = {"Type": "AWS::CloudFormation::WaitConditionHandle"}
    resources[NEVER] = {
        "Type": "AWS::CloudFormation::WaitCondition",
        "DependsOn": functions,
        "Properties": {"Handle": {"Ref": HANDLE}, "Timeout": str(FAILING_S), "Count": 1},
    }
    return broken


def check_free(place: Place) -> None:
    """Check that no stack of another trial is there.

    Raises:
        TrialError: there is one.
        ClientError: AWS refuses.
    """
    if place.is_local:
        return
    client = boto3.client("cloudformation", region_name=place.region)
    try:
        describe_stack(client, name_stack(STAGE))
    except UndeployedError:
        return
    raise TrialError(
        f"there is a stack {name_stack(STAGE)} of a trial that this folder does not know: "
        "daicho trial --remove removes it"
    )
