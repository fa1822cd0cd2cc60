"""Quarantine, redrives and the demonstration's poison through the operators' API."""

from __future__ import annotations

from dataclasses import replace

from tests.support.api_client import Client
from tests.support.consistency import differences
from tests.support.operator_stack import OperatorStack
from tests.support.redrive_setup import SHARD, build_song_with_artist, render_number


def poison_two_songs(stack: OperatorStack, operator: Client) -> None:
    """One song is counted; the change of it and another song end in quarantine."""
    stack.house.put(build_song_with_artist(1, "ab"))
    stack.project()
    operator.good("POST", "/ops/demo/poison?entity=Song")
    stack.house.put(build_song_with_artist(1, "ac"))
    stack.house.put(build_song_with_artist(2, "bc", "y"))
    stack.project(1)


def test_a_poisoned_record_is_seen_redriven_and_counted(
    stack: OperatorStack, operator: Client
) -> None:
    poison_two_songs(stack, operator)
    assert stack.differences()
    page = operator.good("GET", "/ops/quarantine")
    assert [(each["shard"], each["seq"]) for each in page["items"]] == [
        (SHARD, render_number(1)),
        (SHARD, render_number(2)),
    ]
    first = page["items"][0]
    assert (first["state"], first["phase"], first["entity"]) == ("open", "claims", "Song")
    assert first["tenant"] == "t"
    assert first["error"]["type"] == "PoisonOnPurposeError"
    assert "on purpose" in first["error"]["message"]
    assert page["cursor"] is None
    assert page["recount"] == []

    operator.good("DELETE", "/ops/demo/poison")
    preview = operator.good("POST", "/ops/redrives/preview", {"claims": None})
    assert preview == {"count": 2, "added": []}
    answer = operator("POST", "/ops/redrives", {"claims": None, "count": 2})
    assert answer.status == 202
    job = operator.good("GET", answer.headers["Location"])
    assert (job["state"], job["applied"], job["still_failing"]) == ("succeeded", 2, 0)
    assert job["finished"] is True
    assert job["asked_by"] == "olga"
    assert operator.good("GET", "/ops/quarantine")["items"] == []
    assert stack.differences() == []
    assert operator.everything("/ops/redrives", 1) == [job]


def test_what_no_code_can_compute_is_shown_and_dismissed(stack: OperatorStack) -> None:
    song, house = build_song_with_artist(1, "ab"), stack.house

    def deliver(_seconds: float) -> None:
        """Marks and heartbeats are in the table alone; their records follow in the stream."""
        begin = len(house.records)
        for key, item in stack.items().items():
            if "type" in item and house.dynamo.find(key) != item:
                house.put(item)
        stack.project(begin)

    stack.dependencies = replace(stack.dependencies, stream=lambda _: house, sleep=deliver)
    operator = stack.client()
    house.put(song)
    house.put({**song, "seconds": {"S": "three"}})
    stack.project()
    (record,) = operator.good("GET", "/ops/quarantine")["items"]
    chosen = {"claims": [record["id"]], "action": "dismiss"}
    item = {"item": ["t#Song#1", "-"], "claims": [f"{SHARD}/{render_number(1)}"]}
    preview = operator.good("POST", "/ops/redrives/preview", chosen)
    assert preview == {
        "count": 1,
        "added": [],
        "items": [{**item, "becomes_empty": True, "recount": []}],
    }
    job = operator.good("POST", "/ops/redrives", {**chosen, "count": 1})
    job = operator.good("GET", f"/ops/redrives/{job['id']}")
    assert (job["action"], job["state"], job["error"]) == ("dismiss", "succeeded", None)
    assert (job["dismissed"], job["still_failing"]) == (2, 0)  # with the record of the mark
    assert operator.good("GET", "/ops/log?limit=1")["items"][0]["action"] == "start dismissal"
    assert operator.good("GET", "/ops/quarantine")["items"] == []
    kept = {key: item for key, item in stack.items().items() if "_dismissed" not in item}
    assert differences(kept) == []


def test_a_record_is_shown_with_both_images_and_that_is_logged(
    stack: OperatorStack, operator: Client
) -> None:
    poison_two_songs(stack, operator)
    id = operator.good("GET", "/ops/quarantine?limit=1")["items"][0]["id"]
    shown = operator.good("GET", f"/ops/quarantine/{id}")
    assert (shown["old_image"]["name"], shown["new_image"]["name"]) == ("ab", "ac")
    assert shown["record"]["dynamodb"]["NewImage"]["name"] == {"S": "ac"}
    newest = operator.good("GET", "/ops/log?limit=1")["items"][0]
    assert (newest["user"], newest["action"], newest["target"]) == ("olga", "show record", id)
    assert newest["detail"] == "Song of tenant t"
