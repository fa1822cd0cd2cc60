"""What can be wrong with the settings of the alarms' actions. Pure."""

from __future__ import annotations

import re

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
