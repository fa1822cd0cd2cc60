"""Votes in bulk, with repeats and changes of mind, and fast votes whose slots grow meanwhile."""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from daicho.book.book import Book
from daicho.cdk.settings import STAGES
from daicho.errors import ThrottledError
from daicho.plan import Ledger
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey
from daicho.storage.table import Table, open_table
from daicho.tally import counter_items
from daicho.write.counter_writer import CounterSettings
from daicho_cli.local.instance import CREDENTIALS, REGION
from domains.votes import Ballot
from tests.demonstration.e2e.delivery import delivered, roll_up
from tests.e2e.api import TIMEOUT, client, eventually
from tests.support.repository import ROOT

CANDIDATES = ("ann", "bob", "cy")
BALLOTS, CHANGED = 3_600, 400
OVER_HTTP, THREADS = 300, 8
LIKES = 1_500
ATTACKING_POLLS, MOST_EXPECTED = 100, 1_000_000
Fixture = Mapping[str, Any]


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)


def test_thousands_of_ballots_are_counted_once_each(stack: dict[str, Any], tmp_path: Path) -> None:
    draw = random.Random(20261121)
    voters = {f"v{number}": draw.choice(CANDIDATES) for number in range(BALLOTS)}
    with client(stack, "acme") as api:
        poll = opened(api, "exact", 20_000)
        load(stack, tmp_path / "first.ndjson", poll, voters)
        changed = {voter: draw.choice(CANDIDATES) for voter in draw.sample(list(voters), CHANGED)}
        load(stack, tmp_path / "changed.ndjson", poll, changed)
        voters |= changed
        # Over HTTP: some who voted already, some who had not, and many more than once.
        cast = [(f"v{draw.randrange(BALLOTS + 100)}", draw.choice(CANDIDATES))
                for _ in range(OVER_HTTP // 2)]  # fmt: skip
        cast = list(dict(cast).items())
        twice = cast * 2

        def vote(one: tuple[str, str]) -> int:
            answer = api.put(f"{poll}/votes/{one[0]}", json={"candidate": one[1]})
            return answer.status_code

        with ThreadPoolExecutor(THREADS) as pool:
            assert set(pool.map(vote, twice)) == {200, 201}
        voters |= dict(cast)
        expected = Counter(voters.values())
        delivered(api)
        assert totals(api, poll, live=True) == expected
        rolled = rolled_up(stack, lambda: totals(api, poll), expected)
        assert rolled == expected
        gone = list(dict(cast))[:5]
        for voter in gone:
            assert api.delete(f"{poll}/votes/{voter}").status_code == 204
            expected[voters[voter]] -= 1
        delivered(api)
        assert totals(api, poll, live=True) == expected
        page = api.get(f"{poll}/votes", params={"limit": 100}).json()
        shown = [ballot["voter"] for ballot in page["items"]]
        assert len(shown) == 100
        assert shown == sorted(set(shown))
        assert page["cursor"]


def test_fast_votes_are_counted_while_their_slots_grow(stack: dict[str, Any]) -> None:
    ledger, draw = Ledger.load(), random.Random(7)
    named = {"endpoint": stack["endpoint"], "region": REGION, "timeout": TIMEOUT}
    table = open_table(stack["table"], **named)
    once = Hot(open_table(stack["table"], attempts=1, **named))
    since = ledger.current_generation("Ballot").plan.counters[0].since
    with client(stack, "acme") as api:
        poll = opened(api, "fast", 0)
        head = counter_items.CounterName(
            "acme", "Ballot", "likes", since, (poll.rsplit("/", 1)[1],)
        ).head_key
        expected: Counter[str] = Counter()
        for slots in (16, 32):
            # A writer of its own for each turn, which learns how many slots there are by now.
            adding = CounterSettings(once, STAGES["local"].dirty_shards, draw.random)
            book = Book(table, ledger, "acme", counter_settings=adding)
            book_votes = [draw.choice(CANDIDATES) for _ in range(LIKES // 2)]
            http_votes = [draw.choice(CANDIDATES) for _ in range(OVER_HTTP // 4)]

            def like(candidate: str, book: Book = book) -> str:
                id = poll.rsplit("/", 1)[1]
                return book.add(Ballot.likes(id, candidate)).counted

            def like_over_http(candidate: str) -> int:
                answer = api.post(f"{poll}/votes", json={"candidate": candidate})
                return answer.status_code

            with ThreadPoolExecutor(THREADS) as pool:
                assert set(pool.map(like, book_votes)) == {"yes"}
                assert set(pool.map(like_over_http, http_votes)) == {200}
            expected.update([*book_votes, *http_votes])
            assert totals(api, poll, live=True) == expected
            assert rolled_up(stack, lambda: totals(api, poll), expected) == expected
            image = table.get(head, consistent=True)
            assert counter_items.read_slot_count(image) == slots
        used = {key.pk for key in once.tried}
        assert len(used) > 8
        assert api.patch(poll, json={"state": "closed"}).status_code == 200
        refused = eventually(
            lambda: api.post(f"{poll}/votes", json={"candidate": "ann"}).status_code,
            lambda status: status == 409,
            10,
        )
        assert refused == 409


def test_one_tenants_polls_do_not_delay_the_totals_of_another(stack: dict[str, Any]) -> None:
    """Polls that expect a million votes a second, with one vote each."""

    def attack(_number: int) -> None:
        with client(stack, "acme") as api:
            poll = opened(api, "fast", MOST_EXPECTED)
            api.post(f"{poll}/votes", json={"candidate": "ann"}).raise_for_status()

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(attack, range(ATTACKING_POLLS)))
    with client(stack, "globex") as api:
        exact, fast = opened(api, "exact", MOST_EXPECTED), opened(api, "fast", MOST_EXPECTED)
        api.put(f"{exact}/votes/mika", json={"candidate": "bob"}).raise_for_status()
        api.post(f"{fast}/votes", json={"candidate": "bob"}).raise_for_status()
        delivered(api)
        reports = [roll_up(stack) for _ in range(2)]
        assert [totals(api, poll) for poll in (exact, fast)] == [Counter(bob=1)] * 2
    # Heads, 8 slots, totals and marks; a few more where the schedule's rollup came in between.
    assert max(report["most_requests"] for report in reports) < 100
    assert not any(report["failed"] for report in reports)


class Hot(Table):
    """A table of which one vote of each turn is told that its slot is throttled.

    Only one: the scheduled rollup may come in the middle of a turn, and each that sees that votes
    were turned away doubles the slots.
    """

    def __init__(self, table: Table) -> None:
        super().__init__(table._client, table.name)
        self.tried: list[ItemKey] = []
        self._numbers = itertools.count()

    def update(self, key: ItemKey, update: str, **named: Any) -> Image | None:
        self.tried.append(key)
        if next(self._numbers) in (LIKES // 4, LIKES // 4 * 3):
            raise ThrottledError("slow down")
        return super().update(key, update, **named)


def opened(api: httpx.Client, counting: str, expected: int) -> str:
    asked = {"candidates": CANDIDATES, "counting": counting, "expected_votes_per_second": expected}
    made = api.post("/polls", json=asked)
    assert made.status_code == 201, made.text
    return f"/polls/{made.json()['id']}"


def load(stack: Fixture, path: Path, poll: str, voters: Mapping[str, str]) -> None:
    """Ballots in bulk, as an operator loads them."""
    id = poll.rsplit("/", 1)[1]
    rows = ({"poll": id, "voter": voter, "candidate": name} for voter, name in voters.items())
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    where = path.with_suffix(".stack")
    where.write_text(json.dumps({**stack}), encoding="utf-8")
    command = [sys.executable, "-c", "from daicho_cli.main import app; app()"]
    loaded = subprocess.run(
        [*command, "load", "Ballot", str(path), "--tenant", "acme", "--stack", str(where)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'functions'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert loaded.returncode == 0, loaded.stderr
    assert f"{len(voters):,} items loaded" in loaded.stdout


def totals(api: httpx.Client, poll: str, **parameters: Any) -> Counter[str]:
    answer = api.get(poll, params=parameters)
    assert answer.status_code == 200, answer.text
    return +Counter(answer.json()["totals"])


def rolled_up(stack: Fixture, read: Any, expected: Counter[str]) -> Counter[str]:
    """What the totals are after rollups, which need not wait for the schedule."""

    def once_more() -> Counter[str]:
        roll_up(stack)
        found: Counter[str] = read()
        return found

    return eventually(once_more, lambda found: found == expected)
