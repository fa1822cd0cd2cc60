"""The way of events: a FIFO queue, the function that empties it, and a bus.

It exists only where something is published, so it costs nothing otherwise (ADR 0199).
"""

from __future__ import annotations

from aws_cdk import Aws, Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from daicho.cdk.functions import grants
from daicho.cdk.functions.python_function import PythonFunction, SharedResources

RETENTION = Duration.days(14)
TIMEOUT = Duration.seconds(20)
# Six times the timeout, as the guide of Lambda advises. The product with the number of receptions
# is how long an event waits for its bus before it is a dead letter: 33 hours.
VISIBILITY_TIMEOUT = Duration.seconds(120)
MAX_RECEPTIONS = 1_000
BATCH = 10
"""Messages of an invocation: the most of a FIFO queue, and the most entries of one PutEvents."""
MAX_CONCURRENCY = 10
"""Invocations at once, so that a flood of events leaves the rest of the account's concurrency."""


class EventPath(Construct):
    """What `archive` sends events to. ``bus``: the stack's own, or one that a setting names."""

    def __init__(self, scope: Construct, id: str, *, shared: SharedResources) -> None:
        """Create the queues, the bus and the function."""
        super().__init__(scope, id)
        settings = shared.settings
        self.dead_letters = self._create_queue("DeadLetters", None)
        self.queue = self._create_queue(
            "Queue",
            sqs.DeadLetterQueue(max_receive_count=MAX_RECEPTIONS, queue=self.dead_letters),
        )
        self.bus = settings.event_bus or self._create_bus(settings.full_name)
        self.python = PythonFunction(
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
        self.python.allow("sqs", grants.QUEUE_READ, self.queue.queue_arn)
        self.python.allow("sqs", grants.QUEUE_SEND, self.dead_letters.queue_arn)
        self.python.allow("events", grants.BUS_PUT, self._bus_arn)
        lambda_.CfnEventSourceMapping(
            self,
            "Mapping",
            function_name=self.python.function.function_name,
            event_source_arn=self.queue.queue_arn,
            batch_size=BATCH,
            function_response_types=["ReportBatchItemFailures"],
            scaling_config=lambda_.CfnEventSourceMapping.ScalingConfigProperty(
                maximum_concurrency=MAX_CONCURRENCY
            ),
        )

    def allow_sending(self, python: PythonFunction) -> None:
        """Let a function send events to the queue, and name the queue to it."""
        python.allow("sqs", grants.QUEUE_SEND, self.queue.queue_arn)
        python.function.add_environment("EVENT_QUEUE", self.queue.queue_url)

    @property
    def outputs(self) -> dict[str, str]:
        """What commands and subscribers need."""
        return {
            "EventBusName": self.bus,
            "EventQueueUrl": self.queue.queue_url,
            "DeadLetterQueueUrl": self.dead_letters.queue_url,
        }

    def _create_queue(self, id: str, dead_letters: sqs.DeadLetterQueue | None) -> sqs.Queue:
        return sqs.Queue(
            self,
            id,
            fifo=True,
            deduplication_scope=sqs.DeduplicationScope.MESSAGE_GROUP,
            fifo_throughput_limit=sqs.FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=RETENTION,
            visibility_timeout=VISIBILITY_TIMEOUT,
            dead_letter_queue=dead_letters,
        )

    def _create_bus(self, name: str) -> str:
        bus: str = events.CfnEventBus(self, "Bus", name=name).ref
        return bus

    @property
    def _bus_arn(self) -> str:
        if self.bus.startswith("arn:"):
            return self.bus
        place = f"{Aws.REGION}:{Aws.ACCOUNT_ID}"
        return f"arn:{Aws.PARTITION}:events:{place}:event-bus/{self.bus}"
