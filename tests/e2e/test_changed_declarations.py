"""Declarations that change on a deployed stack with old items: no wrong answer with status 200.

Each kind of invoice has one change (`tests.support.changing_project`). The old items stay as they
were written. Whatever is asked is answered exactly, or refused with 503 ``being-built``.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from daicho_cli.local.instance import LocalError
from tests.e2e.api import eventually
from tests.e2e.changing_stack import ChangingStack
from tests.support.changing_project import KINDS, REVERTED, ChangingProject, Kind, render_kinds
from tests.support.trials import IS_TRIAL

CUSTOMERS = ("Yamada Taro", "Suzuki Hana", "Sato Ken")
COUNTRIES = ("jp", "fr")
OLD_INVOICES = 4
READ_PAUSE_S = 0.2 if IS_TRIAL else 0.5
MAX_LAG_S = 20.0
BEING_BUILT = "being-built"
CHANGED = tuple(kind.name for kind in KINDS if kind.name != "Unchanged")
NOT_REVERTED = tuple(name for name in CHANGED if name not in REVERTED)
Rows = list[dict[str, Any]]


@dataclass
class Invoices:
    """What was written of one kind: its invoices as the API answered them, by id."""

    kind: Kind
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)

    def write(self, api: httpx.Client, number: int, **values: Any) -> None:
        """Create an invoice, or change it."""
        path, id = f"/{self.kind.path}", f"i{number}"
        if id in self.rows:
            answer = api.patch(f"{path}/{id}", json=values)
        else:
            body = {
                "id": id,
                "customer": CUSTOMERS[number % len(CUSTOMERS)],
                "country": COUNTRIES[number % len(COUNTRIES)],
                "status": "open" if number % 3 else "paid",
                "amount": number,
            }
            answer = api.post(path, json={**body, **values})
        answer.raise_for_status()
        self.rows[id] = answer.json()

    def select_ids(self, **values: str) -> list[str]:
        """The ids of the invoices with these values."""
        return sorted(id for id, row in self.rows.items() if values.items() <= row.items())

    def sum_amounts(self, group: str, **values: str) -> dict[str, int]:
        """The sums of the amounts of the invoices with these values, by a field."""
        sums: defaultdict[str, int] = defaultdict(int)
        for id in self.select_ids(**values):
            sums[self.rows[id][group]] += int(self.rows[id]["amount"])
        return {group: total for group, total in sums.items() if total}

    def expect(self, question: str, rows: Rows) -> tuple[Any, list[Any]]:
        """What an answer says, and what it may say."""
        if question == "revenue":
            group = "customer" if rows and "customer" in rows[0] else "country"
            right = [self.sum_amounts(group)]
            if self.kind.name == "ConditionChanged":  # the old truth or the new one
                right.append(self.sum_amounts(group, status="paid"))
            return {row[group]: int(row["total"]) for row in rows if int(row["total"])}, right
        if question == "buyers":
            count = {name: len(self.select_ids(customer=name)) for name in CUSTOMERS}
            return {row["customer"]: row["count"] for row in rows}, [count]
        return sorted(row["id"] for row in rows), [self.select_ids(**ASKED[question])]

    def ask(self, api: httpx.Client, question: str) -> str:
        """``right``, ``wrong: …``, ``being-built``, or the status of another answer."""
        path = QUESTIONS[question].format(path=self.kind.path)
        answer = api.get(path)
        if answer.status_code == 200:
            said, right = self.expect(question, answer.json()["items"])
            return "right" if said in right else f"wrong: {said}, not {right}"
        if answer.status_code == 503 and answer.json()["type"].endswith(BEING_BUILT):
            assert int(answer.headers["retry-after"]) > 0
            return BEING_BUILT
        return str(answer.status_code)


QUESTIONS: Mapping[str, str] = {
    "open": "/{path}?status=open&limit=100",
    "search": "/{path}?q=yamada&limit=100",
    "country": "/{path}?country=jp&limit=100",
    "revenue": "/{path}-revenue",
    "buyers": "/{path}-buyers",
}
ASKED: Mapping[str, Mapping[str, str]] = {
    "open": {"status": "open"},
    "search": {"customer": "Yamada Taro"},
    "country": {"country": "jp"},
}
OF_ALL = {"open": "right", "search": "right", "revenue": "right"}
OF_OLD = {kind.name: {} if kind.name == "BeginsToDerive" else OF_ALL for kind in KINDS}
OF_NEW = {
    **OF_OLD,
    "ListingAdded": {**OF_ALL, "country": "right"},
    "FigureAdded": {**OF_ALL, "buyers": "right"},
    "ListingRemoved": {"search": "right", "revenue": "right"},
    "BeginsToDerive": OF_ALL,
}
"""The answers after the rebuild, by kind and question. What is not named has no route."""
OF_REVERTED = {**OF_NEW, **dict.fromkeys(REVERTED, OF_ALL)}


class Trial:
    """The stack, and all that was written to it."""

    def __init__(self, stack: ChangingStack) -> None:
        self.stack = stack
        self.invoices = {kind.name: Invoices(kind) for kind in KINDS}

    def write(self, number: int, **values: Any) -> None:
        """Write an invoice of each kind."""
        with self.stack.open_client() as api, ThreadPoolExecutor(4) as pool:
            for done in [
                pool.submit(each.write, api, number, **values) for each in self.invoices.values()
            ]:
                done.result()

    def ask_all(self, api: httpx.Client) -> dict[str, dict[str, str]]:
        """The answers that have a route, by kind and question."""
        return {
            name: {
                question: said
                for question in OF_OLD[name].keys() | OF_NEW[name].keys()
                if not (said := each.ask(api, question)).startswith("4")
            }
            for name, each in self.invoices.items()
        }

    def check(self, expected: Mapping[str, Mapping[str, str]]) -> float:
        """Wait until every answer is as expected; the seconds that it took."""
        began = time.monotonic()
        with self.stack.open_client() as api:
            said = eventually(lambda: self.ask_all(api), lambda said: said == expected)
        assert said == expected
        return time.monotonic() - began

    @contextmanager
    def reading(self, *built: str) -> Iterator[None]:
        """Ask everything all the time meanwhile: nothing may be wrong.

        ``built``: questions that have to be refused at least once, because nothing answers them
        before the rebuild.
        """
        over, wrong, rounds = threading.Event(), set[str](), [0]
        refused = set[str]()

        def ask() -> None:
            with self.stack.open_client() as api:
                while not over.is_set():
                    for name, said in self.ask_all(api).items():
                        refused.update(
                            f"{name}.{question}"
                            for question in said
                            if said[question] == BEING_BUILT
                        )
                        wrong.update(
                            f"{name}.{question} {answer}"
                            for question, answer in said.items()
                            if answer.startswith("wrong")
                        )
                    rounds[0] += 1
                    over.wait(READ_PAUSE_S)

        with ThreadPoolExecutor(1) as pool:
            asking = pool.submit(ask)
            try:
                yield
            finally:
                over.set()
            asking.result()
        assert wrong == set()
        assert rounds[0] > 0
        assert refused >= set(built)


@pytest.fixture
def trial(changing_stack: ChangingStack) -> Trial:
    """A deployed stack with the old declarations."""
    return Trial(changing_stack)


def test_no_answer_is_wrong_while_declarations_change_and_return(trial: Trial) -> None:
    stack, changing = trial.stack, trial.stack.changing
    for number in range(1, OLD_INVOICES + 1):
        trial.write(number)
    trial.check(OF_OLD)
    old_lock = changing.lock_file.read_bytes()

    # A change of each kind.
    changing.write_domains(render_kinds(CHANGED))
    changing.run("generation", "--accept")
    with trial.reading("ListingAdded.country", "FigureAdded.buyers", "GroupChanged.revenue"):
        stack.deploy()
        trial.check(OF_NEW)
    log = stack.instance.logs / "cdk-deploy.log"
    deployed_at = log.stat().st_mtime_ns
    stack.deploy()
    assert log.stat().st_mtime_ns == deployed_at  # nothing has changed since
    trial.write(20)
    trial.write(1, status="paid", country="fr")
    trial.check(OF_NEW)
    with stack.open_client() as api:
        assert api.get("/field-added/i2").json()["note"] == "none"

    # The code alone is rolled back: it writes the old generation, and the stream goes on.
    new_lock = changing.lock_file.read_bytes()
    changing.write_domains(render_kinds())
    stack.deploy_code_only()
    trial.write(21)
    trial.write(20, status="paid", country="jp")
    trial.write(2, amount=70)
    assert trial.check(OF_OLD) < MAX_LAG_S
    if not IS_TRIAL:
        changing.write_domains(render_kinds(CHANGED))
        return

    # A ledger without a generation that was written is refused before a function changes.
    before = stack.list_code()
    changing.lock_file.write_bytes(old_lock)
    with trial.reading(), pytest.raises(LocalError, match=r"knows [A-Z][A-Za-z]+ generation 1"):
        stack.deploy()
    assert stack.list_code() == before
    changing.lock_file.write_bytes(new_lock)

    # Some changes are undone: the earlier instances were exact all along.
    changing.write_domains(render_kinds(NOT_REVERTED))
    changing.run("generation", "--accept", *(f"--revert={name}" for name in REVERTED))
    with trial.reading():
        stack.deploy()
        trial.check(OF_REVERTED)
    trial.write(22)
    trial.write(3, country="fr")
    trial.check(OF_REVERTED)


def test_a_new_required_field_needs_a_default(tmp_path: Path) -> None:
    changing = ChangingProject.create(tmp_path / "invoices", render_kinds())
    file = changing.folder / "domains/field_added.py"
    text = file.read_text("utf-8")
    file.write_text(text.replace("    key = Key(id)", "    note: str\n\n    key = Key(id)"))
    before = changing.lock_file.read_bytes()
    refused = changing.run("generation", "--accept", statuses=[1])
    assert "FieldAdded.note is new and required" in refused
    assert "give it a default" in refused
    assert changing.lock_file.read_bytes() == before
