"""The ways of events: FIFO queues, and the functions that empty them (ADR 0199).

The events of the bus have one, and each subscriber has its own. Each exists only where something is
declared for it, so it costs nothing otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from aws_cdk import Aws, Duration, Fn, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from daicho.cdk.conventions import suppress_finding
from daicho.cdk.functions import grants
from daicho.cdk.functions.python_function import PythonFunction, SharedResources

if TYPE_CHECKING:
    from daicho.declare.subscribers import Subscriber

RETENTION = Duration.days(14)
TIMEOUT = Duration.seconds(20)
# Six times the timeout, as the guide of Lambda advises. The product with the number of receptions
# is how long an event waits for its bus before it is a dead letter: 33 hours.
TIMEOUTS_UNTIL_VISIBLE = 6
MAX_RECEPTIONS = 1_000
BATCH = 10
"""Messages of an invocation: the most of a FIFO queue, and the most entries of one PutEvents."""
MAX_CONCURRENCY = 10
"""Invocations at once, so that a flood of events leaves the rest of the account's concurrency."""


class EventQueue(Construct):
    """A queue that `archive` sends events to, in the order of each item, and its dead letters.

    ``python``: the function that empties it.
    """

    python: PythonFunction
    prefix: str

    def __init__(self, scope: Construct, id: str, *, timeout: Duration, attempts: int) -> None:
        """Create the queues; ``timeout``: of the function, which gets an event so many times."""
        super().__init__(scope, id)
        self.dead_letters = self._create_queue("DeadLetters", timeout, None)
        self.queue = self._create_queue(
            "Queue",
            timeout,
            sqs.DeadLetterQueue(max_receive_count=attempts, queue=self.dead_letters),
        )

    def _create_queue(
        self, id: str, timeout: Duration, dead_letters: sqs.DeadLetterQueue | None
    ) -> sqs.Queue:
        return sqs.Queue(
            self,
            id,
            fifo=True,
            deduplication_scope=sqs.DeduplicationScope.MESSAGE_GROUP,
            fifo_throughput_limit=sqs.FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=RETENTION,
            visibility_timeout=Duration.seconds(TIMEOUTS_UNTIL_VISIBLE * timeout.to_seconds()),
            dead_letter_queue=dead_letters,
        )

    def _connect(self, python: PythonFunction) -> PythonFunction:
        """Let a function empty the queue, and set aside what nobody takes."""
        python.allow("sqs", grants.QUEUE_READ, self.queue.queue_arn)
        python.allow("sqs", grants.QUEUE_SEND, self.dead_letters.queue_arn)
        lambda_.CfnEventSourceMapping(
            self,
            "Mapping",
            function_name=python.function.function_name,
            event_source_arn=self.queue.queue_arn,
            batch_size=BATCH,
            function_response_types=["ReportBatchItemFailures"],
            scaling_config=lambda_.CfnEventSourceMapping.ScalingConfigProperty(
                maximum_concurrency=MAX_CONCURRENCY
            ),
        )
        return python

    @property
    def outputs(self) -> dict[str, str]:
        """What commands need."""
        return {
            f"{self.prefix or 'Event'}QueueUrl": self.queue.queue_url,
            f"{self.prefix}DeadLetterQueueUrl": self.dead_letters.queue_url,
        }


class EventPath(EventQueue):
    """The way to the bus. ``bus``: the stack's own, or one that a setting names."""

    prefix = ""

    def __init__(self, scope: Construct, id: str, *, shared: SharedResources) -> None:
        """Create the queues, the bus and the function."""
        super().__init__(scope, id, timeout=TIMEOUT, attempts=MAX_RECEPTIONS)
        settings = shared.settings
        self.bus = settings.event_bus or self._create_bus(settings.full_name)
        python = PythonFunction(
            self,
            "Publish",
            name="publish",
            shared=shared,
            permissions=grants.PUBLISH,
            timeout=TIMEOUT,
            environment={
                "EVENT_BUS": self.bus,
                "DEAD_LETTER_QUEUE": self.dead_letters.queue_url,
            },
        )
        python.allow("events", grants.BUS_PUT, self._bus_arn)
        self.python = self._connect(python)

    @property
    def outputs(self) -> dict[str, str]:
        """What commands, and rules on the bus, need."""
        return {"EventBusName": self.bus, **super().outputs}

    def _create_bus(self, name: str) -> str:
        bus: str = events.CfnEventBus(self, "Bus", name=name).ref
        return bus

    @property
    def _bus_arn(self) -> str:
        if self.bus.startswith("arn:"):
            return self.bus
        place = f"{Aws.REGION}:{Aws.ACCOUNT_ID}"
        return f"arn:{Aws.PARTITION}:events:{place}:event-bus/{self.bus}"


class SubscriberPath(EventQueue):
    """The way to a function of the project, which may do what its decorator declares."""

    def __init__(
        self, scope: Construct, id: str, *, subscriber: Subscriber, shared: SharedResources
    ) -> None:
        """Create the queues and the function."""
        timeout = Duration.seconds(subscriber.timeout_s)
        super().__init__(scope, id, timeout=timeout, attempts=subscriber.attempts)
        self.name = subscriber.name
        self.prefix = to_camel(subscriber.name)
        project, settings = shared.project, shared.settings
        python = PythonFunction(
            self,
            "Function",
            name=f"on_{subscriber.name}",
            module="subscribe",
            shared=shared,
            permissions=grants.SUBSCRIBE,
            timeout=timeout,
            environment={
                "SUBSCRIBER": subscriber.name,
                "DIRTY_SHARDS": str(settings.dirty_shards),
                "DEAD_LETTER_QUEUE": self.dead_letters.queue_url,
                "DOMAIN_PACKAGE": project.domains,
                "PYDANTIC_DISABLE_PLUGINS": "__all__",  # see the API's function (ADR 0158)
                **project.migration_settings,
            },
        )
        for grant in subscriber.grants:
            resources = [Fn.sub(each) if "${" in each else each for each in grant.resources]
            python.role.add_to_policy(
                iam.PolicyStatement(actions=list(grant.actions), resources=resources)
            )
            for each in (each for each in grant.resources if "*" in each):
                reason = "The project declares this grant of its subscriber."
                suppress_finding(python.role, rule=f"IAM5[Resource::{each}]", reason=reason)
        self.python = self._connect(python)


def allow_sending(python: PythonFunction, paths: Sequence[EventQueue]) -> None:
    """Let a function send events to the queues of these ways, and name the queues to it."""
    named: dict[str, Any] = {}
    for path in paths:
        python.allow("sqs", grants.QUEUE_SEND, path.queue.queue_arn)
        if isinstance(path, SubscriberPath):
            named[path.name] = path.queue.queue_url
        else:
            python.function.add_environment("EVENT_QUEUE", path.queue.queue_url)
    if named:
        text = Stack.of(python).to_json_string(named)
        python.function.add_environment("SUBSCRIBER_QUEUES", text)


def build_event_paths(
    scope: Construct,
    *,
    receivers: Sequence[str],
    subscribers: Mapping[str, Subscriber],
    shared: SharedResources,
) -> tuple[EventQueue, ...]:
    """The ways to those that get events; "" among them is the bus."""
    return tuple(
        SubscriberPath(scope, f"On{to_camel(name)}", subscriber=subscribers[name], shared=shared)
        if name
        else EventPath(scope, "Events", shared=shared)
        for name in receivers
    )


def to_camel(name: str) -> str:
    """A name with underscores as part of an id: ``write_receipt`` is ``WriteReceipt``."""
    return "".join(part.capitalize() for part in name.split("_"))
