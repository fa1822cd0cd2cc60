"""Parses the values of context options: text (``-c name=value``) or JSON (``cdk.json``). Pure."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

MAX_BATCHING_WINDOW_S = 300
"""Source: MaximumBatchingWindowInSeconds of CreateEventSourceMapping, AWS Lambda API Reference."""
OPTION_NAME = re.compile(r"[\w-]+", re.ASCII)
SIMILARITY = 0.75
"""Of two names, from which one is a misspelling of the other; see `difflib`."""
MAX_DIGITS = 9
"""Digits of a whole number; Python does not read one of thousands of digits."""


class ContextReader:
    """Reads options, and keeps their names: a name that is almost one of them is misspelt.

    ``wrong``: what is wrong with the values so far. An option without a value is not given.
    """

    def __init__(self, find: Callable[[str], Any]) -> None:
        """``find``: ``app.node.try_get_context``, or the ``get`` of a dictionary."""
        self._find, self._read = find, set[str]()
        self.wrong: list[str] = []
        self.of_stage: Mapping[str, Any] = {}

    def __call__(self, name: str) -> Any:
        """The value of an option; None if it is not given."""
        self._read.add(name)
        value = self._find(name)
        return self.of_stage.get(name) if value is None else value

    def choose_stage(self, stage: str) -> None:
        """Read options that are not given in the object of a stage: that of ``cdk.json``."""
        options = self._find(stage)
        if options is not None and not isinstance(options, Mapping):
            self.wrong.append(f"{stage} is {options!r}, not an object with options of the stage")
        elif options:
            self.of_stage = options

    def read_text(self, name: str) -> str | None:
        """A text or whole number as text, or nothing."""
        value = self(name)
        if not value:
            return None
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            self.wrong.append(f"{name} is {value!r}, not a text")
            return None
        return str(value)

    def read_list(self, name: str) -> tuple[str, ...]:
        """The entries of a list, or of a text that commas separate; without spaces around them."""
        value = self(name)
        entries = value if isinstance(value, (list, tuple)) else str(value or "").split(",")
        return tuple(filter(None, (str(entry).strip() for entry in entries)))

    def read_boolean(self, name: str, *, default: bool = False) -> bool:
        """True, false, or nothing, which is the default."""
        value = self(name)
        if value is None:
            return default
        text = str(value or "false").lower()
        if text not in {"true", "false"}:
            self.wrong.append(f"{name} is {value!r}, neither true nor false")
        return text == "true"

    def read_fraction(self, name: str) -> float | None:
        """A number above 0 and below 1, or nothing."""
        value = self(name)
        if value is None or value == "":
            return None
        try:
            fraction = float(value)
        except (TypeError, ValueError, OverflowError):
            fraction = math.nan
        if not 0 < fraction < 1:
            self.wrong.append(f"{name} is {value!r}, not a number between 0 and 1")
            return None
        return fraction

    def read_seconds(self, name: str, *, default: int) -> int:
        """A whole number of seconds, or nothing, which is the default."""
        value = self(name)
        if value is None or value == "":
            return default
        text = str(value)
        if not (text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS):
            self.wrong.append(f"{name} is {value!r}, not a whole number of seconds")
            return default
        return int(text)

    def list_misspelt(self) -> list[str]:
        """What is wrong with the names that are given, after all options have been read.

        Names of another kind are left to the app, and names with ``:`` or ``/`` to the CDK.
        """
        owner: Any = getattr(self._find, "__self__", None)
        given = owner.get_all_context() if hasattr(owner, "get_all_context") else owner
        names = [str(name) for name in given] if isinstance(given, Mapping) else []
        wrong = [f"{name} is no option" for name in self.of_stage if name not in self._read]
        for name in names:
            if name in self._read or not OPTION_NAME.fullmatch(name):
                continue
            plain = re.sub(r"(?<=[a-z])(?=[A-Z])|-", "_", name).lower()
            similar = difflib.get_close_matches(plain, sorted(self._read), 1, SIMILARITY)
            if similar:
                wrong.append(f"{name} is no option; write {similar[0]}")
        return wrong


def list_window_problems(name: str, seconds: int) -> Iterator[str]:
    """What Lambda refuses as a batching window, with the remedy."""
    if not 0 <= seconds <= MAX_BATCHING_WINDOW_S:
        yield (
            f"{name} is {seconds}; Lambda takes 0 to {MAX_BATCHING_WINDOW_S} seconds: "
            "use 0 for no delay, or 1 to 5 to collect records"
        )


TOPIC_ARN = re.compile(r"arn:aws[a-z-]*:sns:(?P<region>[a-z0-9-]+):\d{12}:[A-Za-z0-9_-]{1,256}")
"""A standard topic: an alarm cannot publish to a FIFO topic, whose name ends with ``.fifo``.

Source: "Notifying users on alarm changes", Amazon CloudWatch User Guide.
"""

NO_TOPIC = "none"
"""The topic of a stage whose alarms notify nobody, because something else reads their states."""
EMAIL = re.compile(r"[^@\s,;<>]+@[^@\s,;<>.]+(\.[^@\s,;<>.]+)+")


def list_alarm_problems(
    *, email: str | None, topic: str | None, region: str | None, needs_action: bool
) -> list[str]:
    """One sentence for each problem.

    ``needs_action``: whether alarms have to notify somebody. ``region``: of the alarms, None if the
    credentials of the deployment choose it.
    """
    problems = []
    if needs_action and not (email or topic):
        problems.append(
            "the alarms of stage prod would notify nobody: set alarm_email to an address, or "
            "alarm_topic to the ARN of an SNS topic, or to none if something else watches them"
        )
    if email and not EMAIL.fullmatch(email):
        problems.append(f"alarm_email is {email!r}, not an address such as oncall@example.com")
    if topic and topic != NO_TOPIC:
        arn = TOPIC_ARN.fullmatch(topic)
        if arn is None:
            problems.append(f"alarm_topic is {topic!r}, not the ARN of a standard SNS topic")
        elif region and arn["region"] != region:
            problems.append(f"alarm_topic is in {arn['region']}, and the alarms are in {region}")
    return problems


STREAM_ARN = re.compile(
    r"(?P<table>arn:aws[a-z-]*:dynamodb:(?P<region>[a-z0-9-]+):\d{12}:table/[A-Za-z0-9_.-]{3,255})"
    r"/stream/[0-9T:.-]+"
)


def list_stream_problems(stream: str | None, region: str | None) -> Iterator[str]:
    """What is wrong with the stream of a restored table, which may be None."""
    arn = STREAM_ARN.fullmatch(stream or "")
    if stream and arn is None:
        yield f"table_stream is {stream!r}, not the ARN of a table's stream"
    elif arn and region and arn["region"] != region:
        yield f"table_stream is in {arn['region']}, and the stage is in {region}"


VAULT_ARN = re.compile(
    r"arn:aws[a-z-]*:backup:(?P<region>[a-z0-9-]+):\d{12}:backup-vault:[A-Za-z0-9_-]{2,50}"
)


def list_vault_problems(vault: str | None, region: str | None) -> Iterator[str]:
    """What is wrong with the vault of another Region, which may be None."""
    arn = VAULT_ARN.fullmatch(vault or "")
    if vault and arn is None:
        yield f"backup_vault is {vault!r}, not the ARN of a backup vault"
    elif arn and arn["region"] == region:
        yield f"backup_vault is in {region}, as the stage is: name one of another Region"
