"""Deployed stacks: their outputs, tables and functions, in an account or on the local AWS."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from daicho.jobs.state_machine import StateMachine
from daicho.release.states import StageStates, read_stage_states
from daicho.storage.table import Table, open_table
from daicho_cli.cost.prices import DEFAULT_REGION
from daicho_cli.local.environment import use_local_aws
from daicho_cli.project import find_project, find_root
from daicho_cli.terminal import CommandError, OptionError

STACK_FILE = find_root() / ".local" / "stack.json"


class StackError(CommandError):
    """The stack does not exist, or lacks something."""


class UndeployedError(StackError):
    """The stage was never deployed."""


def name_stack(stage: str) -> str:
    """The name of the project's stack at a stage."""
    return f"{find_project().name}-{stage}"


def read_outputs(stage: str, region: str | None = None) -> dict[str, str]:
    """The outputs of a stage's stack, by name. ``region``: by default that of the environment.

    Raises:
        UndeployedError: the stack does not exist.
        ClientError, BotoCoreError: AWS refuses.
    """
    client = boto3.client("cloudformation", region_name=region)
    stack = describe_stack(client, name_stack(stage))
    return {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", ())}


def describe_stack(cloudformation: Any, name: str) -> Mapping[str, Any]:
    """The description of a stack, as CloudFormation's ``DescribeStacks`` returns it.

    Raises:
        UndeployedError: the stack does not exist.
        ClientError, BotoCoreError: AWS refuses.
    """
    try:
        (stack,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
    except ClientError as error:
        if "does not exist" in error.response.get("Error", {}).get("Message", ""):
            raise UndeployedError(f"there is no stack {name}: nothing is deployed") from error
        raise
    description: Mapping[str, Any] = stack
    return description


def read_template(cloudformation: Any, name: str) -> Mapping[str, Any]:
    """The template that a stack was deployed from.

    Raises:
        UndeployedError: the stack does not exist.
        ClientError, BotoCoreError: AWS refuses.
    """
    describe_stack(cloudformation, name)
    body = cloudformation.get_template(StackName=name, TemplateStage="Processed")["TemplateBody"]
    template: Mapping[str, Any] = json.loads(body) if isinstance(body, str) else body
    return template


def read_local_stack(file: Path) -> dict[str, Any]:
    """Read the file that `make up` wrote.

    Raises:
        StackError: the file does not exist, or cannot be read.
    """
    if not file.exists():
        raise StackError(f"there is no {file} (make up writes it): name a --stage or a --table")
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StackError(f"{file} cannot be read ({error}): make up once more") from error
    if not isinstance(content, dict):
        raise StackError(f"{file} is no stack file: make up once more")
    return content


@dataclass(frozen=True)
class Stack:
    """One deployed stack. ``endpoint`` and ``region`` are None if the environment sets them."""

    name: str
    resources: Mapping[str, str]
    endpoint: str | None = None
    region: str | None = None

    @classmethod
    def find(cls, stage: str | None, file: Path, *, region: str | None = None) -> Stack:
        """The stack of a stage; without a stage, the local stack that ``file`` describes.

        ``region``: of the stage.

        Raises:
            StackError: the stack does not exist.
            ClientError, BotoCoreError: AWS does not answer the request.
        """
        if stage is not None:
            return cls(name_stack(stage), read_outputs(stage, region), None, region)
        content = read_local_stack(file)
        use_local_aws()
        functions = content.get("functions", {})
        resources = {output: content[name] for output, name in _LOCAL.items() if name in content}
        resources |= content.get("events", {})
        resources |= {f"{name.capitalize()}FunctionName": functions[name] for name in functions}
        try:
            return cls("the local stack", resources, content["endpoint"], content["region"])
        except KeyError as error:
            raise StackError(f"{file} knows no {error}: make up once more") from error

    def __getitem__(self, output: str) -> str:
        """The value of an output.

        Raises:
            StackError: the output does not exist.
        """
        try:
            return self.resources[output]
        except KeyError:
            raise StackError(f"{self.name} says no {output}: deploy it once more") from None

    @property
    def is_local(self) -> bool:
        """Whether the stack runs on the local AWS."""
        return self.endpoint is not None

    @property
    def url(self) -> str:
        """The address of the API.

        Raises:
            StackError: the stack has none.
        """
        return self["ApiUrl"].rstrip("/")

    @property
    def connection(self) -> Connection:
        """The location of the table.

        Raises:
            StackError: the stack has none.
        """
        return self.connection_to(self["TableName"])

    def connection_to(self, table: str) -> Connection:
        """The location of a table next to that of the stack."""
        return Connection(table, self.endpoint, self.region)

    @property
    def machine(self) -> StateMachine:
        """The state machine of jobs.

        Raises:
            StackError: the stack has none.
        """
        return StateMachine(self["JobMachineArn"], self.endpoint, self.region)

    def list_functions(self) -> dict[str, str]:
        """The names of the functions, by what they are for, such as ``api``."""
        end = "FunctionName"
        return {
            output.removesuffix(end).lower(): name
            for output, name in self.resources.items()
            if output.endswith(end)
        }

    def open_client(self, service: str, config: Config | None = None) -> Any:
        """A client of an AWS service."""
        place = {"endpoint_url": self.endpoint, "region_name": self.region}
        return boto3.client(service, config=config, **place)  # type: ignore[call-overload]


EVENT_OUTPUTS = ("QueueUrl", "EventBusName")
"""How the names of the outputs end that only a stack with events has."""
_LOCAL = {
    "ApiUrl": "url",
    "TableName": "table",
    "ArchiveBucketName": "bucket",
    "FailureBucketName": "failures",
    "JobMachineArn": "job_machine",
    "ArchiveWorkgroupName": "archive_workgroup",
    "ArchiveDatabaseName": "archive_database",
    "ArchiveTableName": "archive_table",
    "UserPoolId": "user_pool",
    "UserPoolClientId": "client_id",
}
"""Outputs of the stack, by their names in the local stack's file."""


@dataclass(frozen=True)
class Connection:
    """The location of a table. Without an endpoint the environment configures AWS."""

    table: str
    endpoint: str | None = None
    region: str | None = None

    @classmethod
    def find(
        cls,
        table: str | None,
        endpoint: str | None,
        stack_file: Path,
        *,
        stage: str | None = None,
        region: str | None = None,
    ) -> Connection:
        """The given table, or that of a stage, or that of the local stack (`make up`).

        Raises:
            StackError: the stack does not exist, or does not name its table.
            ClientError, BotoCoreError: AWS does not answer the request for the stage's stack.
        """
        if table is not None:
            return cls(table, endpoint, region)
        stack = Stack.find(stage, stack_file, region=region)
        return cls(stack["TableName"], endpoint or stack.endpoint, region or stack.region)

    def open(self, parallelism: int, attempts: int = 5, timeout: float = 30.0) -> Table:
        """Open the table, with retries and timeouts for a program that may wait.

        ``timeout``: of a request, in seconds.

        Raises:
            StackError: the environment names no region.
        """
        try:
            return open_table(
                self.table,
                attempts=attempts,
                timeout=timeout,
                connections=parallelism + 4,
                endpoint=self.endpoint,
                region=self.region,
            )
        except BotoCoreError as error:
            raise StackError(str(error)) from error


@dataclass(frozen=True)
class TableSize:
    """Items and bytes of a table without its indexes. DynamoDB measures both every six hours.

    A local DynamoDB may not measure them: then they are 0.
    """

    items: int = 0
    bytes: int = 0


def read_table_size(connection: Connection) -> TableSize | None:
    """The size of a table; None if it does not exist.

    Raises:
        StackError: AWS does not answer the request, or no Region or credentials are configured.
    """
    config = Config(connect_timeout=3.0, read_timeout=10.0, retries={"total_max_attempts": 3})
    try:
        client = boto3.client(
            "dynamodb",
            config=config,
            endpoint_url=connection.endpoint,
            region_name=connection.region,
        )
        described = client.describe_table(TableName=connection.table)["Table"]
    except (ClientError, BotoCoreError) as error:
        code = error.response["Error"].get("Code") if isinstance(error, ClientError) else ""
        if code == "ResourceNotFoundException":
            return None
        raise StackError(f"table {connection.table}: {error}") from error
    return TableSize(described.get("ItemCount", 0), described.get("TableSizeBytes", 0))


PARALLELISM = 8
"""Segments of a scan that are read at once."""


@dataclass(frozen=True)
class DeployedStage:
    """The table of a stage, its size, and what it contains of each entity."""

    connection: Connection
    table: Table
    size: TableSize
    states: StageStates

    @property
    def region(self) -> str:
        """The Region of the table."""
        return self.connection.region or boto3.Session().region_name or DEFAULT_REGION


def find_stage(
    stack: Path,
    *,
    table: str | None = None,
    stage: str | None = None,
    region: str | None = None,
    endpoint: str | None = None,
) -> DeployedStage | None:
    """Read a stage by its name or by its table; without any, the local stack of a file.

    None if the stage has no stack or no table: nothing was deployed yet.

    Raises:
        OptionError: both a table and a stage are named.
        StackError: the local stack does not exist, or AWS does not answer.
        StoreError: the table does not answer.
        ClientError, BotoCoreError: AWS does not answer the request for the stage's stack.
    """
    if table is not None and stage is not None:
        raise OptionError("--stage names the table of a stage: use --table or --stage, not both")
    try:
        connection = Connection.find(table, endpoint, stack, stage=stage, region=region)
    except UndeployedError:
        return None
    size = read_table_size(connection)
    if size is None:
        return None
    opened = connection.open(PARALLELISM)
    return DeployedStage(connection, opened, size, read_stage_states(opened))


SECONDS_PER_CALL = 910
"""Longer than any function timeout. A lost call is not repeated: it may still run."""


class CallError(CommandError):
    """The function was not found, or did not complete."""


@dataclass(frozen=True)
class LambdaInvoker:
    """Calls a function and waits for its answer."""

    client: Any
    name: str

    @classmethod
    def find(cls, function: str, stage: str | None, stack_file: Path) -> LambdaInvoker:
        """The function ``function`` of a stage, by the outputs of its stack.

        Without a stage it is the function of the local stack, from the file that `make up` wrote.

        Raises:
            StackError: the local stack does not exist.
            CallError: the stack has no such function.
            ClientError, BotoCoreError: AWS does not answer the request.
        """
        stack = Stack.find(stage, stack_file)
        name = stack.resources.get(f"{function}FunctionName")
        if name is None:
            raise CallError(f"{stack.name} has no function {function.lower()}")
        config = Config(
            read_timeout=SECONDS_PER_CALL, tcp_keepalive=True, retries={"total_max_attempts": 1}
        )
        return cls(stack.open_client("lambda", config), name)

    def __call__(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Call the function; return its answer.

        Raises:
            CallError: the function raised, or ran out of time.
            ClientError, BotoCoreError: it was not called, or the outcome is unknown.
        """
        answer = self.client.invoke(FunctionName=self.name, Payload=json.dumps(event).encode())
        reply: dict[str, Any] = json.loads(answer["Payload"].read())
        if answer.get("FunctionError"):
            kind, message = reply.get("errorType", "error"), reply.get("errorMessage", reply)
            raise CallError(f"{self.name}: {kind}: {message}")
        return reply
