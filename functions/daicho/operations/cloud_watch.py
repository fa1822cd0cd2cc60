"""CloudWatch: alarms and metrics of the stack. The only module that asks it for either."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any

from botocore.config import Config

from daicho.operations.series import MetricRange
from daicho.storage.botocore_errors import AWS_ERRORS, translate_error
from daicho.storage.sessions import open_on_first_use

CONFIG = Config(
    retries={"mode": "standard", "total_max_attempts": 2}, connect_timeout=1.0, read_timeout=5.0
)


class CloudWatch:
    """The metrics and alarms of an account and Region."""

    def __init__(self, client: Any = None) -> None:
        """``client``: by default one that is opened on first use."""
        self._client = client or open_on_first_use("cloudwatch", CONFIG)

    def list_alarms(self, prefix: str) -> Iterator[Mapping[str, Any]]:
        """The alarms whose names begin with ``prefix``, as CloudWatch describes them.

        Raises:
            StoreError: CloudWatch does not answer.
        """
        token: dict[str, str] | None = {}
        while token is not None:
            try:
                page = self._client.describe_alarms(
                    AlarmNamePrefix=prefix, AlarmTypes=["MetricAlarm"], **token
                )
            except AWS_ERRORS as error:
                raise translate_error(error, "describe the alarms") from error
            yield from page.get("MetricAlarms", ())
            token = {"NextToken": page["NextToken"]} if page.get("NextToken") else None

    def read_values(self, wanted: MetricRange) -> dict[int, float]:
        """The values of a metric by the beginnings of their periods, in epoch seconds.

        Raises:
            StoreError: CloudWatch does not answer.
        """
        query = {
            "Id": "wanted",
            "MetricStat": {
                "Metric": {
                    "Namespace": wanted.namespace,
                    "MetricName": wanted.metric,
                    "Dimensions": [
                        {"Name": name, "Value": value} for name, value in wanted.dimensions.items()
                    ],
                },
                "Period": wanted.period,
                "Stat": wanted.statistic,
            },
        }
        begin, end = (dt.datetime.fromtimestamp(at, dt.UTC) for at in (wanted.begin, wanted.end))
        values: dict[int, float] = {}
        token: dict[str, str] | None = {}
        while token is not None:
            try:
                page = self._client.get_metric_data(
                    MetricDataQueries=[query], StartTime=begin, EndTime=end, **token
                )
            except AWS_ERRORS as error:
                raise translate_error(error, f"read the metric {wanted.metric}") from error
            for result in page.get("MetricDataResults", ()):
                for at, value in zip(result["Timestamps"], result["Values"], strict=True):
                    values[int(at.timestamp())] = float(value)
            token = {"NextToken": page["NextToken"]} if page.get("NextToken") else None
        return values
