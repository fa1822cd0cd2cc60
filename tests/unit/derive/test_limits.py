"""Values at the edge of what there is: sums past a score's width, cursors of somebody's own make,
sets without end, numbers and texts that come back spelt otherwise."""

from __future__ import annotations

import base64
import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pytest

from daicho import Aggregate, Count, Domain, Entity, Key, Listing, Sum, copied, each, field, ref
from daicho.book.book import Book
from daicho.declare.registry import Daicho
from daicho.derive import derived_items
from daicho.derive.contributions import Amount
from daicho.errors import BadCursor, ConditionFailedError, DeclarationError, Invalid
from daicho.items.mapper import item_of, values_image
from daicho.layout import components
from daicho.layout.base_item import complete
from daicho.plan import Ledger
from daicho.query.paging import Binding, Position
from daicho.query.totals import Figures, Group
from daicho.runtime.retry import Patience
from daicho.storage import attributes, item_key, keys
from daicho.storage.attributes import Image
from daicho.stream.projector import Projector
from daicho.stream.records import Batch, EventError
from daicho.tally import slots
from daicho.tally.reader import live_amount
from daicho.tally.rollup import Rollup
from daicho.write.validation import check
from tests.delivery.aws.memory import MemoryBucket, MemoryTable

NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/daicho/stream/2026-11-21T00:00:00.000"
HIGHEST = 10**19 - 1
AMPLE = Patience.seconds(3_600)


class Payment(Entity):
    id: str = field()
    payer: str = field()
    amount: int = field()

    key = Key(id)
    payers = Aggregate(Sum(amount), payer, ranked=True)


class Bag(Entity):
    id: str = field()
    labels: set[str] = field(factory=set)
    marks: set[str] = field(factory=set)
    extra: dict[str, Any] = field(factory=dict)
    prices: dict[str, Any] = field(factory=dict)

    key = Key(id)
    labelled = Aggregate(Count(), each(labels))
    crossed = Listing(each(labels), each(marks))


LEDGER = Daicho(Domain("test", Payment, Bag)).appended(Ledger())
PAYMENT, BAG = LEDGER.current("Payment"), LEDGER.current("Bag")


def image_of(item: Entity) -> dict[str, Any]:
    entity = type(item)
    values = {name: getattr(item, name) for name in entity.fields_}
    generation = LEDGER.current(entity.__name__)
    return complete("t", generation, values_image(entity, values), NOON)


def event(*changes: tuple[Image | None, Image | None]) -> dict[str, Any]:
    records = []
    for number, (old, new) in enumerate(changes, 1):
        key = item_key.key_of(new or old or {})
        change: dict[str, Any] = {
            "Keys": {"PK": {"S": key.pk}, "SK": {"S": key.sk}},
            "SequenceNumber": str(number),
            "ApproximateCreationDateTime": NOON.timestamp(),
        }
        change |= {"OldImage": old} if old else {}
        change |= {"NewImage": new} if new else {}
        name = "INSERT" if old is None else "REMOVE" if new is None else "MODIFY"
        records.append({"eventName": name, "eventSourceARN": ARN, "dynamodb": change})
    return {"shardId": "s", "Records": records}


def projected(table: MemoryTable, *items: Entity) -> None:
    batch = Batch.parse(event(*((None, image_of(item)) for item in items)))
    projector = Projector(table, MemoryBucket(), LEDGER, dirty_shards=1)
    assert projector.project(batch, AMPLE) is None


def test_a_sum_beyond_a_scores_width_stands_at_the_top() -> None:
    table = MemoryTable()
    projected(
        table,
        Payment(id="1", payer="rich", amount=HIGHEST),
        Payment(id="2", payer="rich", amount=HIGHEST),
        Payment(id="3", payer="poor", amount=-HIGHEST),
        Payment(id="4", payer="poor", amount=-HIGHEST),
        Payment(id="5", payer="other", amount=5),
    )
    report = Rollup(table, LEDGER, dirty_shards=1).run(AMPLE)
    assert (report.rolled, report.failed) == (3, 0)
    figures = Figures(table, LEDGER, "t")
    group = Group("t", PAYMENT.plan, PAYMENT.plan.aggregates[0], ())
    tally = group.tally(("rich",))
    total = table.get(slots.total_key(tally))
    assert slots.amount_of(total).total == 2 * HIGHEST
    amounts = {"rich": 2 * HIGHEST, "other": 5, "poor": -2 * HIGHEST}
    placed = [item for item in table.items.values() if "GSI3SK" in item]
    placed.sort(key=lambda item: item["GSI3SK"]["S"])
    assert [keys.parse(item["GSI3SK"]["S"])[1] for item in placed] == list(amounts)
    for payer, amount in amounts.items():
        live = live_amount(table, group.tally((payer,)))
        assert figures.score(group, (payer,), live, ranked=False).total == amount


def test_a_member_is_never_ahead_of_itself() -> None:
    table = MemoryTable()
    payments = [Payment(id=str(n), payer="a", amount=10) for n in range(3)]
    projected(table, *payments, Payment(id="9", payer="b", amount=1))
    Rollup(table, LEDGER, dirty_shards=1).run(AMPLE)
    tally = Group("t", PAYMENT.plan, PAYMENT.plan.aggregates[0], ())
    slot = slots.slot_key(tally.tally(("a",)), "s")
    table.items[slot] = {**table.items[slot], "items": {"N": "2"}, "total": {"N": "20"}}
    figures = Figures(table, LEDGER, "t")
    for payer, rank in (("a", 1), ("b", 2)):
        live = live_amount(table, tally.tally((payer,)))
        assert figures.score(tally, (payer,), live, ranked=True).rank == rank


@pytest.mark.parametrize("order", ["", "\ud800", "x" * 1025, "日" * 400])
def test_a_cursor_of_ones_own_make_that_no_query_could_take_is_refused(order: str) -> None:
    class Forger(Binding):
        def write(self, position: Position | None) -> str | None:
            assert position is not None
            content = [1, position.order, position.list, self._digest(position)]
            text = json.dumps(content, separators=(",", ":"))
            if "\ud800" not in position.order:
                text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
            return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    forged = Forger("t", ("q",)).write(Position(order))
    with pytest.raises(BadCursor):
        Binding("t", ("q",)).read(forged)


def test_an_item_counts_in_99_groups_at_most() -> None:
    most = {f"l{n}" for n in range(99)}
    check(BAG.plan, image_of(Bag(id="b", labels=most)))
    with pytest.raises(Invalid, match="99") as error:
        check(BAG.plan, image_of(Bag(id="b", labels=most | {"more"})))
    assert error.value.field == "labels"


def test_two_large_sets_are_refused_before_they_are_multiplied() -> None:
    many = {f"{n}" for n in range(2_000)}
    image = image_of(Bag(id="b", labels=many, marks=many))
    with pytest.raises(components.UnderivableError):
        derived_items.rows(BAG.plan, image)


def test_an_item_at_its_largest_can_still_be_written_again() -> None:
    room = attributes.ITEM_BYTES - attributes.size_of(image_of(Bag(id="b", extra={"x": ""})))
    largest = image_of(Bag(id="b", extra={"x": "y" * room}))
    assert attributes.size_of(largest) == attributes.ITEM_BYTES
    with pytest.raises(Invalid, match="at most"):
        check(BAG.plan, largest)


def test_decimals_inside_json_keep_their_digits() -> None:
    exact = Decimal("12345678901234567.89")
    image = image_of(Bag(id="b", prices={"a": exact, "b": 0.1, "c": [2.5, 3]}))
    assert item_of(Bag, image).prices == {"a": exact, "b": 0.1, "c": [2.5, 3]}
    assert isinstance(item_of(Bag, image).prices["b"], float)


@pytest.mark.parametrize("zero", [Decimal("-0.0"), Decimal("0E-200"), Decimal("0E+200"), -0.0])
def test_zero_is_zero(zero: Any) -> None:
    assert attributes.to_value(zero) == {"N": "0"}


class Respelling:
    """A table that lost its answer, and gives what it holds in DynamoDB's own spelling."""

    def put(self, item: Image, **_: Any) -> None:
        there = {**item, "labels": {"SS": ["b", "a"]}, "prices": {"M": {"x": {"N": "1.5"}}}}
        raise ConditionFailedError("there already", there)


def test_an_items_own_creation_is_no_conflict_however_it_is_spelt() -> None:
    book = Book(Respelling(), LEDGER, "t", clock=lambda: NOON)  # type: ignore[arg-type]
    made = book.create(Bag(id="b", labels={"a", "b"}, prices={"x": Decimal("1.50")}))
    assert made.version == 1


def test_instants_that_leave_the_calendar_are_refused() -> None:
    class Meeting(Entity):
        id: str = field()
        at: dt.datetime = field()

        key = Key(id)

    first = dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=9)))
    with pytest.raises(Invalid) as error:
        values_image(Meeting, {"id": "m", "at": first})
    assert error.value.field == "at"


def test_names_inside_json_are_as_long_as_dynamodb_takes() -> None:
    values_image(Bag, vars(Bag(id="b", extra={"n" * 65_535: 1})))
    for name in ("n" * 65_536, "日" * 30_000):
        with pytest.raises(Invalid) as error:
            values_image(Bag, vars(Bag(id="b", extra={"x": {name: 1}})))
        assert error.value.field == "extra"


def test_a_change_without_its_old_image_is_no_record_of_ours() -> None:
    image = image_of(Payment(id="1", payer="a", amount=1))
    whole = event((image, image), (image, None))
    for place in (0, 1):
        broken = event((image, image), (image, None))
        del broken["Records"][place]["dynamodb"]["OldImage"]
        with pytest.raises(EventError, match="image"):
            Batch.parse(broken)
    assert len(Batch.parse(whole).records) == 2


def test_a_reference_needs_an_item_that_one_id_tells() -> None:
    class Pair(Entity):
        a: str = field()
        b: str = field()
        name: str = ""

        key = Key(a, b)

    class Follower(Entity):
        id: str = field()
        pair: str = ref(Pair)
        name: str = copied(pair, Pair.name)

        key = Key(id)

    with pytest.raises(DeclarationError, match=r"Follower\.pair"):
        Domain("test", Pair, Follower)


def test_amounts_of_any_size_add_up_exactly() -> None:
    total = sum((Amount(1, Decimal(HIGHEST) + Decimal("1e-9")) for _ in range(1000)), Amount())
    assert total.total == 1000 * (Decimal(HIGHEST).scaleb(9) + 1).scaleb(-9)


def test_a_number_that_cannot_be_summed_is_named() -> None:
    with pytest.raises(Invalid, match="19 digits before the point") as refused:
        check(PAYMENT.plan, image_of(Payment(id="x" * 40, payer="p" * 60, amount=10**20)))
    assert refused.value.field == "amount"
