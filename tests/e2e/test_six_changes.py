"""Invoices whose declarations change six times in a row, as the how-to pages describe.

Readers ask every query all the time, and invoices are written all the time. At no moment is an
answer of status 200 wrong. It takes minutes, so ``make trials`` runs it; with every change,
`test_changed_declarations` does the same with fewer changes.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest

from daicho.plan import Ledger
from daicho.rebuild.purged_items import is_item_of
from daicho.release.older_writers import READERS_KNOW_S
from daicho.storage.attributes import Image, get_key
from tests.e2e.api import eventually, send
from tests.e2e.changing_stack import ChangingStack
from tests.e2e.readers import Allowed, Readers, Truths, Writer, ask, judge
from tests.e2e.verified import Verified
from tests.support.derived_state import items_of
from tests.support.how_to_page import Edit, HowToPage
from tests.support.possible_answers import ListTruth, RankingTruth, Row, WrittenItems
from tests.support.repository import ROOT
from tests.support.trials import IS_TRIAL

EXAMPLE = (ROOT / "examples/invoices.py").read_text("utf-8")
FILE = "invoices.py"
STAGE = " --stage dev"
RESTORE_CODE = "git restore --source=v41 functions"
RESTORE_LOCK_FILE = "git restore --source=v42 functions/generations.json"
NOT_RUN = ("contract", "generation --disable Invoice.by_status")
"""What needs a repository, and what ends an instance: at the end all of them are."""
CUSTOMERS = ("Yamada Taro", "Suzuki Hana", "Sato Ken")
COUNTRIES = ("jp", "fr")
COLD_INVOICES = 45
HOT_INVOICES = 4
WRITE_PAUSE_S = 0.7
YAMADA = "/invoices?q=yamada&limit=20"
FRANCE = "/invoices?q=fr&limit=20"
OPEN = "/invoices?status=open&limit=100"
JAPAN = "/invoices?country=jp&limit=20"
JAPAN_YAMADA = "/invoices?country=jp&customer=Yamada%20Taro&limit=100"
COLD = "/invoices?series=cold&limit=100"
REVENUE = "/revenue"
BUYERS = "/buyers"


def may_lack_series(row: Row) -> bool:
    """Whether the series is right, if the code that answers knows it already."""
    return is_hot(row) or row.get("series", "cold") == "cold"


def has_series(row: Row) -> bool:
    """Whether a migrated invoice has its series. Those that are created later have none."""
    return is_hot(row) or row.get("series") == "cold"


def is_hot(row: Row) -> bool:
    """Whether it is an invoice that changes."""
    return not row["id"].startswith("cold")


def has(**values: str) -> ListTruth:
    """A list of the invoices with these values."""
    return ListTruth(lambda row: values.items() <= row.items(), may_lack_series)


BEFORE: Truths = {
    YAMADA: has(customer="Yamada Taro"),
    FRANCE: ListTruth(lambda row: False),
    OPEN: has(status="open"),
    JAPAN: has(country="jp"),
    REVENUE: RankingTruth("country", "amount"),
}
PATHS = frozenset({*BEFORE, BUYERS, JAPAN_YAMADA, COLD})
MIGRATION = '''"""Migrations of invoices."""

from collections.abc import Mapping
from typing import Any

from daicho import migration


@migration("Invoice", writes=["series"])
def name_series(invoice: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"series": invoice["id"].rstrip("0123456789")}
'''
ADD_SERIES = (
    Edit(
        "    amount: int = field(ge=0)\n",
        "    amount: int = field(ge=0)\n    series: str | None = field(default=None)\n",
    ),
    Edit("    search =", "    by_series = Listing(series)\n    search ="),
)
OTHER_ENTITIES = re.compile(r"\b(?!Invoice )[A-Z]\w* \d+, |, (?!Invoice )[A-Z]\w* \d+(?=[,:])")
"""In what a rebuild prints: the stack has other entities than the pages."""


def with_series(truths: Truths) -> Truths:
    """What is answered once a migration gives every older invoice its series."""
    return {
        COLD: ListTruth(lambda row: not is_hot(row), has_series),
        **{
            path: replace(truth, is_right=has_series) if isinstance(truth, ListTruth) else truth
            for path, truth in truths.items()
        },
    }


def without(truths: Truths, *paths: str) -> Truths:
    """What is answered if some queries have no route any more."""
    return {path: truth for path, truth in truths.items() if path not in paths}


class Walk:
    """The stack, all that was written to it, and the changes that are made to it."""

    def __init__(self, stack: ChangingStack) -> None:
        self.stack = stack
        self.text = EXAMPLE
        self.truths = BEFORE
        self.written = WrittenItems()
        self.readers = Readers(
            stack.open_client,
            self.written,
            PATHS,
            Allowed((BEFORE,)),
        )
        self.writer = Writer(stack.open_client, self.write_hot)
        self.releases = [(EXAMPLE, stack.changing.lock_file.read_bytes())]
        self.began = time.monotonic()

    # --- Writing ------------------------------------------------------------------------------

    def write_old(self) -> None:
        """Write the invoices that stay as they are, and the first ones of those that change."""
        with self.stack.open_client() as api:
            for number in range(COLD_INVOICES):
                self.create(api, f"cold{number}", number, amount=1_000 * (number + 1))
            for number in range(HOT_INVOICES):
                self.write_hot(api, number)
        self.settle()

    def create(self, api: httpx.Client, id: str, number: int, amount: int) -> None:
        """Create an invoice whose values follow from its number."""
        row = {
            "id": id,
            "customer": CUSTOMERS[number % len(CUSTOMERS)],
            "country": COUNTRIES[number // 2 % len(COUNTRIES)],
            "status": "open" if number % 5 else "paid",
            "amount": amount,
        }
        self.written.record(id, row)
        self.send(api, "POST", "/invoices", json=row)

    def write_hot(self, api: httpx.Client, number: int) -> None:
        """Change one of the invoices that change: its amount, its groups, whether it exists."""
        id = f"hot{number % HOT_INVOICES}"
        row = self.written.get_newest(id)
        if row is None:
            self.create(api, id, number, amount=1 + number % 9)
        elif number % 7 == 0:
            self.written.record(id, None)
            self.send(api, "DELETE", f"/invoices/{id}")
        else:
            values: Row = {
                "customer": CUSTOMERS[number % len(CUSTOMERS)],
                "country": COUNTRIES[number % len(COUNTRIES)],
                "status": "paid" if row["status"] == "open" else "open",
                "amount": 1 + number % 11,
            }
            self.written.record(id, row | values)
            self.send(api, "PATCH", f"/invoices/{id}", json=values)

    def send(self, api: httpx.Client, method: str, path: str, **options: Any) -> None:
        """Write. A request that is sent again may have had its effect: 404 and 409."""
        answer = send(api, method, path, **options)
        assert answer.is_success or answer.status_code in {404, 409}, answer.text

    def settle(self) -> None:
        """Wait until every answer is the truth, and nothing but the truth is right any more."""
        allowed = Allowed((self.truths,))

        def list_faults() -> list[str]:
            states = {id: all[-1:] for id, all in self.written.copy_states().items()}
            with self.stack.open_client() as api:
                return [
                    f"{path}: {fault}"
                    for path in sorted(self.readers.paths)
                    if (fault := judge(path, *ask(api, path), allowed, states))
                ]

        with self.writer.pause():
            assert eventually(list_faults, lambda faults: not faults, seconds=60) == []
            self.readers.allowed = allowed
            self.written.settle()
        self.readers.check()
        self.report(f"settled: {dict(self.readers.counts)}")

    # --- Changing -----------------------------------------------------------------------------

    @contextmanager
    def allow(self, truths: Truths, *built: str, rolled_back: str = "") -> Iterator[None]:
        """Let answers be as before or as after a change; at the end as after it.

        ``built``: queries that nothing could answer before. They are refused meanwhile.
        ``rolled_back``: a query that newer code, which still runs, cannot answer any more once
        older code writes. It may be refused.
        """
        refused = frozenset((*built, rolled_back))
        self.readers.allowed = Allowed((self.truths, truths), refused)
        self.readers.built.clear()
        yield
        time.sleep(READERS_KNOW_S)  # until then a reader may not know that a rebuild is complete
        self.truths = truths
        self.settle()
        assert set(built) <= self.readers.built

    def follow(
        self,
        name: str,
        truths: Truths,
        *built: str,
        edits: Sequence[Edit] = (),
        rolled_back: str = "",
    ) -> None:
        """Make the change of a how-to page; ``edits``: instead of its first ones. See `allow`."""
        page = HowToPage.read(name)
        for edit in edits or (page.edits[0] if page.edits else ()):
            self.text = edit.apply(self.text)
        self.stack.changing.write_domains({FILE: self.text})
        with self.allow(truths, *built, rolled_back=rolled_back):
            page.run(self.run, checked=not edits)

    def run(self, line: str) -> str:
        """Run a command of a page; what it prints."""
        began = time.monotonic()
        try:
            return self._run(line)
        finally:
            self.report(f"{time.monotonic() - began:4.1f} s  {line}")

    def _run(self, line: str) -> str:
        changing = self.stack.changing
        if line == "make deploy":
            self.stack.deploy()
            self.releases.append((self.text, changing.lock_file.read_bytes()))
            return ""
        if line == RESTORE_CODE:
            self.text, lock = self.releases[-2]
            changing.write_domains({FILE: self.text})
            changing.lock_file.write_bytes(lock)
            return ""
        if line == RESTORE_LOCK_FILE:
            changing.lock_file.write_bytes(self.releases[-1][1])
            return ""
        program, _, arguments = line.removesuffix(STAGE).partition(" ")
        if program == "curl" or arguments in NOT_RUN:
            return ""
        assert program == ".venv/bin/daicho", line
        return OTHER_ENTITIES.sub("", changing.run(*arguments.split()))

    def return_to_newer_code(self, truths: Truths, *built: str) -> None:
        """Deploy the code again that was rolled back, as the page describes."""
        self.text, _ = self.releases[-2]
        self.stack.changing.write_domains({FILE: self.text})
        with self.allow(truths, *built):
            self.run("make deploy")
            self.run(f".venv/bin/daicho rebuild{STAGE}")

    # --- Ending -------------------------------------------------------------------------------

    def end_older_instances(self) -> None:
        """Disable what retires. A purge then deletes what the table has of it, and nothing else."""
        retiring = self.list_instances("retiring")
        before, base = self.read_items(retiring)
        assert all(before[instance] for instance in retiring)
        names = [f"--disable Invoice.{instance.partition('@')[0]}" for instance in retiring]
        with self.allow(self.truths):
            self.run(f".venv/bin/daicho generation {' '.join(names)}")
            self.run("make deploy")
        purged = eventually(lambda: self.list_instances("purged"), lambda each: each == retiring)
        assert purged == retiring
        after, unchanged = self.read_items(retiring)
        assert after == dict.fromkeys(retiring, 0)
        assert unchanged == base
        self.report(f"purged: {before}")

    def list_instances(self, state: str) -> list[str]:
        """The instances of invoices in a state, as `daicho status` prints them."""
        (invoices,) = (
            entity
            for entity in json.loads(self.run(".venv/bin/daicho status --json"))["entities"]
            if entity["entity"] == "Invoice"
        )
        return sorted(
            f"{instance['declaration']}@{instance['since']}"
            for instance in invoices["instances"]
            if instance["state"] == state
        )

    def read_items(self, instances: Sequence[str]) -> tuple[dict[str, int], list[Image]]:
        """How many items of the table are of each instance; and all base items."""
        stack = self.stack.instance.stack()
        dynamodb = self.stack.instance.session().client("dynamodb", endpoint_url=stack["endpoint"])
        items = list(items_of(dynamodb, stack["table"]))
        counts = {
            instance: sum(is_item_of({"Invoice": [instance]}, item) for item in items)
            for instance in instances
        }
        return counts, sorted((item for item in items if "gen" in item), key=get_key)

    def list_differences(self) -> list[str]:
        """What the table has derived, and should not have, or the other way round."""
        ledger = Ledger.load(self.stack.changing.lock_file)
        verified = Verified(self.stack.instance.stack(), ledger)
        return [*verified.wrong(), *verified.rolled_up()]

    def report(self, line: str) -> None:
        """Print what happens, and when."""
        print(f"{time.monotonic() - self.began:6.1f} s  {line}")  # noqa: T201  # of a trial


@pytest.fixture
def walk(changing_stack: ChangingStack) -> Walk:
    """A deployed stack with invoices."""
    walk = Walk(changing_stack)
    walk.write_old()
    return walk


@pytest.mark.skipif(not IS_TRIAL, reason="takes minutes: make trials")
def test_no_answer_is_wrong_while_invoices_change_six_times(walk: Walk) -> None:
    with walk.readers.ask_always():
        with walk.writer.write_always(WRITE_PAUSE_S):
            walk.follow("add-a-search-field", {**walk.truths, FRANCE: has(country="fr")})
            walk.follow(
                "add-an-aggregate", {**walk.truths, BUYERS: RankingTruth("customer")}, BUYERS
            )
            earlier = walk.truths
            changed = {**walk.truths, REVENUE: RankingTruth("customer", "amount")}
            walk.follow("change-a-group", changed, REVENUE)
            walk.follow("roll-code-back", earlier, rolled_back=REVENUE)
            walk.return_to_newer_code(changed, REVENUE)
            walk.follow("remove-a-listing", without(walk.truths, OPEN))
            walk.stack.changing.write_migration("invoices.py", MIGRATION)
            migrated = with_series(walk.truths)
            walk.follow("add-an-aggregate", migrated, COLD, edits=ADD_SERIES)
            earlier = walk.truths
            in_japan = has(country="jp", customer="Yamada Taro")
            changed = {**without(earlier, JAPAN), JAPAN_YAMADA: in_japan}
            _, partition = HowToPage.read("change-a-group").edits
            walk.follow("change-a-group", changed, JAPAN_YAMADA, edits=partition)
            walk.follow("undo-a-change", earlier)
        walk.end_older_instances()
    walk.readers.check()
    assert eventually(walk.list_differences, lambda differences: not differences) == []
