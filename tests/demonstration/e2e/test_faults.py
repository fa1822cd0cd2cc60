"""The projector fails at random while many write; what it derives is exact all the same."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import httpx
import pytest

from daicho.plan import Ledger
from daicho_cli.local import group as logs
from daicho_cli.local.environment import REGION
from daicho_cli.local.instance import LocalInstance
from tests.e2e.api import client, eventually, everything
from tests.e2e.redeployed import redeploy
from tests.e2e.verified import Verified
from tests.support.repository import ROOT

SHARE = 0.2
WRITERS, WRITES = 6, 20
LEAST_ROUNDS, MOST_ROUNDS = 2, 20
MANY_LINES = 100_000
MONTHS = ("2001-02", "2001-03")
CANDIDATES = ("ann", "bob", "cy")
ACCEPTED = {200, 201, 204, 404, 409}  # somebody else's write came first: absent, or in the way
BUG = """
_compute_index_rows = compute_index_rows


def compute_index_rows(plan, image):
    if "unlucky" in str(image):
        raise UnderivableError("a bug")
    return _compute_index_rows(plan, image)
"""
FAULTS = ("the request is lost", "the answer is lost", "the process ends")


@pytest.fixture(scope="module")
def faulty(place: LocalInstance | None, stack: dict[str, Any]) -> Iterator[LocalInstance]:
    """The local AWS, whose projector fails on purpose meanwhile."""
    if place is None:
        pytest.skip("it lets functions fail, and this local AWS is somebody's own")
    set_faults(stack, str(SHARE))
    yield place
    set_faults(stack, None)


def set_faults(stack: dict[str, Any], share: str | None) -> None:
    """Let the projector fail as often as `FAULTS` says, which a deployment would set."""
    functions, name = aws(stack, "lambda"), stack["functions"]["project"]
    settings = functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
    settings.pop("FAULTS", None)
    settings |= {"FAULTS": share} if share else {}
    functions.update_function_configuration(FunctionName=name, Environment={"Variables": settings})


@pytest.fixture(scope="module")
def poll(stack: dict[str, Any]) -> str:
    """Songs to download, and a poll to vote in; the poll's path."""
    with client(stack, "acme") as api:
        for number in range(3):
            api.put(f"/artists/kept-{number}", json={"name": f"Kept {number}"}).raise_for_status()
            song = {"title": f"Kept {number}", "artist": f"kept-{number % 2}", "released": 2000}
            api.put(f"/songs/kept-{number}", json=song).raise_for_status()
        made = api.post("/polls", json={"candidates": CANDIDATES})
        made.raise_for_status()
        return f"/polls/{made.json()['id']}"


def test_concurrent_writes_are_derived_exactly_by_a_projector_that_fails(
    faulty: LocalInstance, stack: dict[str, Any], poll: str
) -> None:
    for number in range(MOST_ROUNDS):
        with ThreadPoolExecutor(WRITERS) as pool:
            writers = [
                Writer(stack, poll, seed) for seed in range(number * 100, number * 100 + WRITERS)
            ]
            answers = sum(pool.map(Writer.run, writers), Counter[int]())
        assert set(answers) <= ACCEPTED, answers
        delivered(stack, f"round-{number}")
        seen = faults_seen(faulty)
        if number + 1 >= LEAST_ROUNDS and all(seen.values()):
            break
    assert all(seen.values()), seen
    is_exact(stack, "end")


def test_poison_is_set_aside_and_redriven_after_the_fix(
    faulty: LocalInstance, stack: dict[str, Any], poll: str
) -> None:
    both = [stack["functions"][name] for name in ("project", "redrive")]
    redeploy(aws(stack, "lambda"), both, {"daicho/derive/derived_items.py": BUG})
    with client(stack, "acme") as api:
        for id, name in (("early", "Early"), ("unlucky", "Unlucky"), ("late", "Late")):
            api.put(f"/artists/{id}", json={"name": f"{name} Bird"}).raise_for_status()
            vote(api, poll, id, "ann")
        # What the same item does next is as much poison: its old image is.
        api.put("/artists/unlucky", json={"name": "Lucky Bird"}).raise_for_status()
        vote(api, poll, "unlucky", "bob")
        delivered(stack, "past-the-poison")
        found = eventually(lambda: birds(api), lambda found: len(found) == 2)
        assert found == {"early", "late"}
        status, listed = redrive(faulty, "--list")
        claims = [
            (each["state"], each["entity"], each["error"]["message"]) for each in listed["claims"]
        ]
        entities = ("Artist", "Ballot", "Artist", "Ballot")
        assert (status, claims) == (1, [("open", entity, "a bug") for entity in entities])

        assert payloads(stack) == Counter(quarantine=4)

        status, tried = redrive(faulty)
        assert (status, tried["applied"], len(tried["claims"])) == (1, 0, 4)
        redeploy(aws(stack, "lambda"), both, {})
        status, done = redrive(faulty)
        assert (status, done["applied"]) == (0, 4), done
        is_exact(stack, "redriven")
        assert birds(api) == {"early", "unlucky", "late"}
        status, again = redrive(faulty)
        assert (status, again["applied"]) == (0, 0)
    assert payloads(stack) == Counter(done=4)


def vote(api: httpx.Client, poll: str, voter: str, candidate: str) -> None:
    api.put(f"{poll}/votes/{voter}", json={"candidate": candidate}).raise_for_status()


def birds(api: httpx.Client) -> set[str]:
    return {artist["id"] for artist in everything(api, "/artists", name="bird")}


def payloads(stack: dict[str, Any]) -> Counter[str]:
    """How many objects of the failure bucket are where."""
    found = aws(stack, "s3").list_objects_v2(Bucket=stack["failures"]).get("Contents", ())
    return Counter(each["Key"].partition("/")[0] for each in found)


def redrive(place: LocalInstance, *options: str) -> tuple[int, dict[str, Any]]:
    """The command's exit code, and what it said."""
    command = [sys.executable, "-m", "daicho_cli.main", "redrive", "--stack", str(place.stack_file)]
    done = subprocess.run(
        [*command, "--json", *options], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode in {0, 1}, done.stderr
    return done.returncode, json.loads(done.stdout)


class Writer:
    """One of several who write the same few items."""

    def __init__(self, stack: dict[str, Any], poll: str, seed: int) -> None:
        self._stack, self._poll = stack, poll
        self._chance = random.Random(seed)
        self._downloads: list[str] = []

    def run(self) -> Counter[int]:
        """Write; gives how often each status was answered."""
        with client(self._stack, "acme") as api:
            steps = (self._artist, self._song, self._vote, self._download)
            return Counter(self._chance.choice(steps)(api) for _ in range(WRITES))

    def _artist(self, api: httpx.Client) -> int:
        path = f"/artists/a{self._chance.randrange(8)}"
        if self._chance.random() < 1 / 3:
            return api.delete(path).status_code
        name = self._chance.choice(("Ann Bo", "Bo Ann", "Bo", "Cy"))
        return api.put(path, json={"name": name}).status_code

    def _song(self, api: httpx.Client) -> int:
        path = f"/songs/s{self._chance.randrange(8)}"
        if self._chance.random() < 1 / 3:
            return api.delete(path).status_code
        artist, year = f"kept-{self._chance.randrange(2)}", self._chance.choice((1999, 2000))
        title = self._chance.choice(("One", "Two"))
        body = {"title": title, "artist": artist, "released": year}
        return api.put(path, json=body).status_code

    def _vote(self, api: httpx.Client) -> int:
        path = f"{self._poll}/votes/v{self._chance.randrange(12)}"
        if self._chance.random() < 1 / 4:
            return api.delete(path).status_code
        return api.put(path, json={"candidate": self._chance.choice(CANDIDATES)}).status_code

    def _download(self, api: httpx.Client) -> int:
        at = f"{self._chance.choice(MONTHS)}-05T06:07:08Z"
        if self._downloads and self._chance.random() < 1 / 2:
            which = self._chance.choice(self._downloads)
            if self._chance.random() < 1 / 2:
                return api.delete(which).status_code
            return api.patch(which, json={"at": at}).status_code
        made = api.post(f"/songs/kept-{self._chance.randrange(3)}/downloads", json={"at": at})
        self._downloads.append(made.headers["location"])
        return made.status_code


def delivered(stack: dict[str, Any], sign: str) -> None:
    """Wait until the stream has come to here; what failed on the way may have to come again."""
    with client(stack, "acme") as api:
        api.put(f"/artists/{sign}", json={"name": sign}).raise_for_status()
        found = eventually(lambda: everything(api, "/artists", name=sign), bool)
        assert [each["id"] for each in found] == [sign]


def is_exact(stack: dict[str, Any], sign: str) -> None:
    """Everything becomes what the base items say, and stays so."""
    ledger = Ledger.load()
    delivered(stack, f"{sign}-one")
    assert eventually(lambda: Verified(stack, ledger).wrong(), lambda wrong: not wrong) == []
    delivered(stack, f"{sign}-two")
    verified = Verified(stack, ledger)
    assert eventually(lambda: Verified(stack, ledger).wrong(), lambda wrong: not wrong) == []
    roll_up(stack)
    # Where the scheduled rollup is at a tally as well, one of the two has its total in a moment.
    rolled_up = eventually(lambda: Verified(stack, ledger).rolled_up(), lambda wrong: not wrong)
    assert rolled_up == []
    downloads = [item for item in verified.base if item["type"]["S"] == "Download"]
    with client(stack, "acme") as api:
        for month in MONTHS:
            wanted = Counter(
                item["song"]["S"] for item in downloads if item["at"]["S"].startswith(month)
            )
            chart = [(row["song"], row["count"]) for row in everything(api, f"/charts/{month}")]
            assert chart == sorted(wanted.items(), key=lambda each: (-each[1], each[0]))


def roll_up(stack: dict[str, Any]) -> None:
    """What its schedule does each minute."""
    answer = aws(stack, "lambda").invoke(FunctionName=stack["functions"]["rollup"], Payload=b"{}")
    report = json.load(answer["Payload"])
    assert report["finished"] and not report["failed"], report


def faults_seen(place: LocalInstance) -> Counter[str]:
    """How often each kind of fault happened, as the projector's log says."""
    lines = logs.read_newest(place, MANY_LINES)
    return Counter({fault: sum(fault in line for line in lines) for fault in FAULTS})


def aws(stack: dict[str, Any], service: Any) -> Any:
    session = boto3.Session("test", "test", region_name=REGION)
    return session.client(service, endpoint_url=stack["endpoint"])
