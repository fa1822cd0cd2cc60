"""The way of events: only where something is published, with the least that it needs."""

import json
from dataclasses import replace
from typing import Any

import pytest

from daicho.plan import Ledger
from daicho.plan.events import EventPlan
from daicho.plan.lockfile import write_lock_file
from daicho.project import Project
from daicho.testing.aws.memory_events import VISIBILITY_TIMEOUT
from tests.infra.synthesis import LEDGER, Synthesis, synthesise
from tests.infra.test_alarms import (
    ALARM_ROW,
    DESCRIPTION,
    OF_EVENTS,
    REFERENCE,
    RUNBOOK,
    find_section,
)
from tests.infra.test_findings import lint, solutions
from tests.infra.test_permissions import allowed, role_of
from tests.support.repository import ROOT

PAID = EventPlan("paid", 1, "became", {"id": "str"}, ("status",), ({"S": "paid"},))
PUBLISHING = replace(LEDGER, events={"Note": (PAID,), "Song": (PAID,)})
SUBSCRIBING = '''"""Notes that somebody hears of."""

from daicho import Book, Domain, Entity, Event, Grant, Key, created, deleted, uid

class Note(Entity):
    """A note."""

    id: str = uid()
    key = Key(id)


domain = Domain("notes", Note)
MAIL = "arn:${AWS::Partition}:ses:${AWS::Region}:${AWS::AccountId}:identity/a@example.com"


@domain.on(Note, created, timeout_s=20, attempts=7, grants=[Grant("ses:SendEmail", MAIL)])
def tell_somebody(book: Book, event: Event) -> None:
    """Send an e-mail."""


@domain.on(Note, deleted, grants=[Grant("s3:PutObject", "arn:aws:s3:::company/notes/*")])
def forget(book: Book, event: Event) -> None:
    """Keep it elsewhere."""
'''
KINDS = ("SQS::Queue", "Events::EventBus")


@pytest.fixture(scope="module")
def publishing(tmp_path_factory: pytest.TempPathFactory) -> Synthesis:
    return synthesise("prod", tmp_path_factory.mktemp("publishing"), ledger=PUBLISHING)


@pytest.fixture(scope="module")
def own_bus(tmp_path_factory: pytest.TempPathFactory) -> Synthesis:
    folder = tmp_path_factory.mktemp("bus")
    return synthesise("dev", folder, ledger=PUBLISHING, event_bus="company")


def test_nothing_of_it_exists_where_nothing_is_published(any_stage: Synthesis) -> None:
    assert [any_stage.resources(kind) for kind in KINDS] == [{}, {}]
    assert "EventBusName" not in any_stage.template["Outputs"]
    unset = {"EVENT_QUEUE", "SUBSCRIBER_QUEUES", "FAILURE_BUCKET"}
    assert not unset & {*any_stage.environment("archive")}


def test_the_archive_receives_every_change_of_what_publishes(publishing: Synthesis) -> None:
    types = {"type": {"S": ["Note", "Song"]}}
    filters = publishing.filters("archive")
    assert filters[2:] == [
        {"dynamodb": {"NewImage": types}},
        {"dynamodb": {"OldImage": types}},
    ]
    assert publishing.mapping("archive")["MaximumBatchingWindowInSeconds"] == 1


def test_the_queues_keep_order_and_messages(publishing: Synthesis) -> None:
    queue, dead = _read_queues(publishing)
    for each in (queue, dead):
        assert each["FifoQueue"] is True
        assert each["SqsManagedSseEnabled"] is True
        assert each["MessageRetentionPeriod"] == 14 * 24 * 3600
    seconds = queue["VisibilityTimeout"]
    assert seconds == VISIBILITY_TIMEOUT.total_seconds()
    assert seconds == 6 * publishing.function("publish")["Properties"]["Timeout"]
    # An outage of a day makes no dead letter.
    assert seconds * queue["RedrivePolicy"]["maxReceiveCount"] > 24 * 3600
    mapping = publishing.mapping("publish")
    assert (mapping["BatchSize"], mapping["FunctionResponseTypes"]) == (
        10,
        ["ReportBatchItemFailures"],
    )


def test_each_function_may_do_only_its_part(publishing: Synthesis, own_bus: Synthesis) -> None:
    for stage, bus in ((publishing, "bus of the stack"), (own_bus, "company")):
        actions = {name: _list_actions(stage, name) for name in ("archive", "redrive", "publish")}
        assert actions["archive"] == actions["redrive"] == {("sqs:SendMessage", "Queue")}
        assert actions["publish"] == {
            ("events:PutEvents", bus),
            ("sqs:DeleteMessage", "Queue"),
            ("sqs:GetQueueAttributes", "Queue"),
            ("sqs:ReceiveMessage", "Queue"),
            ("sqs:SendMessage", "DeadLetters"),
        }


def test_a_setting_names_another_bus(own_bus: Synthesis) -> None:
    assert own_bus.resources("Events::EventBus") == {}
    assert own_bus.environment("publish")["EVENT_BUS"] == "company"
    assert own_bus.template["Outputs"]["EventBusName"]["Value"] == "company"


def test_one_alarm_is_added(publishing: Synthesis, prod: Synthesis) -> None:
    more, usual = (stage.resources("CloudWatch::Alarm").values() for stage in (publishing, prod))
    added = [each for each in more if each["Properties"]["Namespace"] == "AWS/SQS"]
    assert len(added) == len(more) - len(usual) == 1
    alarm = added[0]["Properties"]
    rows = ALARM_ROW.findall((ROOT / REFERENCE).read_text("utf-8"))
    (row,) = (row for row in rows if row[0] == OF_EVENTS)
    assert row[1:] == (alarm["MetricName"], "maximum", "1", "5")
    assert alarm["MetricName"] == "ApproximateAgeOfOldestMessage"
    parts = DESCRIPTION.fullmatch(alarm["AlarmDescription"])
    assert parts is not None
    assert parts["remedy"] in find_section((ROOT / RUNBOOK).read_text("utf-8"), parts["anchor"])


@pytest.fixture(scope="module")
def subscribed(tmp_path_factory: pytest.TempPathFactory) -> Synthesis:
    """A project with two subscribers, and nothing on the bus."""
    root = tmp_path_factory.mktemp("subscribed")
    (root / "domains").mkdir()
    (root / "domains/__init__.py").touch()
    (root / "domains/notes.py").write_text(SUBSCRIBING, "utf-8")
    project = Project("Shop", root, root, "domains", root / "generations.json")
    ledger = project.discover().append_generations(Ledger(project="Shop"))
    write_lock_file(ledger, project.lock_file)
    return synthesise("prod", root, ledger=ledger, project=project, memory={"subscribe": 2048})


def test_each_subscriber_has_a_function_a_queue_and_its_own_rights(subscribed: Synthesis) -> None:
    functions = subscribed.resources("Lambda::Function")
    (told,) = (id for id in functions if id.startswith("OnTellSomebody"))
    settings = functions[told]["Properties"]
    assert settings["Handler"] == "daicho.handlers.subscribe.handler"
    assert (settings["Timeout"], settings["MemorySize"]) == (20, 2048)
    assert (
        settings["Environment"]["Variables"].items()
        >= {
            "SUBSCRIBER": "tell_somebody",
            "DOMAIN_PACKAGE": "domains",
        }.items()
    )
    queues = subscribed.resources("SQS::Queue")
    mine = [queues[id]["Properties"] for id in queues if id.startswith("OnTellSomebodyQueue")]
    assert [(each["FifoQueue"], each["VisibilityTimeout"]) for each in mine] == [(True, 120)]
    assert mine[0]["RedrivePolicy"]["maxReceiveCount"] == 7
    rights = {
        action: resource
        for resource, actions in allowed(subscribed, settings["Role"]["Fn::GetAtt"][0]).items()
        for action in actions
    }
    assert "identity/a@example.com" in rights["ses:SendEmail"]
    assert "OnTellSomebodyDeadLetters" in rights["sqs:SendMessage"]
    assert "dynamodb:Query" in rights
    assert not {action for action in rights if "*" in action or action == "dynamodb:Scan"}
    named = json.dumps(subscribed.environment("archive")["SUBSCRIBER_QUEUES"])
    assert named.count("QueueUrl") + named.count("Ref") == 2


def test_a_subscriber_writes_only_when_readers_know_its_declarations(
    subscribed: Synthesis,
) -> None:
    resources = subscribed.template["Resources"]
    api = set(resources[subscribed.function_id("api")]["DependsOn"])
    (opened,) = (id for id in api if "ReleaseOpen" in id)
    (told,) = (
        id
        for id in resources
        if id.startswith("OnTellSomebodyFunction")
        and (resources[id]["Type"] == "AWS::Lambda::Function")
    )
    assert opened in resources[told]["DependsOn"]


def test_nothing_else_exists_for_subscribers(subscribed: Synthesis) -> None:
    assert subscribed.resources("Events::EventBus") == {}
    handlers = [
        each["Properties"]["Handler"] for each in subscribed.resources("Lambda::Function").values()
    ]
    assert "daicho.handlers.publish.handler" not in handlers
    alarms = subscribed.resources("CloudWatch::Alarm")
    assert sum("EventsWaitFor" in id for id in alarms) == 2
    outputs = subscribed.template["Outputs"]
    assert {"TellSomebodyQueueUrl", "TellSomebodyDeadLetterQueueUrl"} <= {*outputs}
    assert "OnTellSomebodyFunctionName" in outputs


def test_nothing_is_found_against_it(publishing: Synthesis, subscribed: Synthesis) -> None:
    """A stack that publishes to a bus of another stack has the same resources but the bus."""
    for stage in (publishing, subscribed):
        assert solutions(stage)["violations"] == []
        assert lint(stage.folder / f"{stage.name}.template.json") == []


def _read_queues(stage: Synthesis) -> tuple[dict[str, Any], dict[str, Any]]:
    queues = stage.resources("SQS::Queue")
    (dead,) = (id for id in queues if "DeadLetters" in id)
    (queue,) = (id for id in queues if id != dead)
    return queues[queue]["Properties"], queues[dead]["Properties"]


def _list_actions(stage: Synthesis, name: str) -> set[tuple[str, str]]:
    """The actions on the queues and the bus, each with what it is on."""
    places = {"DeadLetters": "DeadLetters", "EventsQueue": "Queue", "company": "company"}
    places["event-bus"] = "bus of the stack"
    return {
        (action, next(place for part, place in places.items() if part in resource))
        for resource, actions in allowed(stage, role_of(stage, name)).items()
        for action in actions
        if action.startswith(("sqs:", "events:"))
    }
