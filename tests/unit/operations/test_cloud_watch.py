"""What CloudWatch is asked, and what becomes of its answers and errors."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from daicho.errors import StoreError, ThrottledError, UnavailableError
from daicho.operations.cloud_watch import CloudWatch
from daicho.operations.series import MetricRange

AT = 1_795_000_200
WANTED = MetricRange("Daicho", "RollupLag", {"stage": "dev"}, "Maximum", 60, AT, AT + 120)


class Client:
    """Answers one page after the other."""

    def __init__(self, *pages: Any) -> None:
        self.pages, self.requests = list(pages), list[dict[str, Any]]()

    def describe_alarms(self, **request: Any) -> Any:
        self.requests.append(request)
        page = self.pages.pop(0)
        if isinstance(page, Exception):
            raise page
        return page

    get_metric_data = describe_alarms


def test_all_pages_of_alarms_are_read() -> None:
    one, two, three = ({"AlarmName": name} for name in "abc")
    client = Client({"MetricAlarms": [one, two], "NextToken": "n"}, {"MetricAlarms": [three]})
    assert list(CloudWatch(client).list_alarms("Daicho-dev-")) == [one, two, three]
    asked = {"AlarmNamePrefix": "Daicho-dev-", "AlarmTypes": ["MetricAlarm"]}
    assert client.requests == [asked, {**asked, "NextToken": "n"}]


def test_values_are_read_by_their_periods() -> None:
    moment = dt.datetime.fromtimestamp(AT, dt.UTC)
    first = {"Timestamps": [moment], "Values": [4.5]}
    second = {"Timestamps": [moment + dt.timedelta(minutes=1)], "Values": [5]}
    client = Client(
        {"MetricDataResults": [first], "NextToken": "n"}, {"MetricDataResults": [second]}
    )
    assert CloudWatch(client).read_values(WANTED) == {AT: 4.5, AT + 60: 5.0}
    (query,) = client.requests[0]["MetricDataQueries"]
    assert query["MetricStat"]["Metric"]["Dimensions"] == [{"Name": "stage", "Value": "dev"}]
    assert (query["MetricStat"]["Period"], query["MetricStat"]["Stat"]) == (60, "Maximum")
    assert client.requests[0]["StartTime"] == moment


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (EndpointConnectionError(endpoint_url="x"), UnavailableError),
        (ClientError({"Error": {"Code": "ThrottlingException"}}, "x"), ThrottledError),
        (ClientError({"Error": {"Code": "AccessDenied"}}, "x"), StoreError),
    ],
)
def test_errors_are_ours(error: Exception, expected: type[Exception]) -> None:
    with pytest.raises(expected):
        list(CloudWatch(Client(error)).list_alarms("x"))
    with pytest.raises(expected):
        CloudWatch(Client(error)).read_values(WANTED)
