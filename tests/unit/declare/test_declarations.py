"""Wrong declarations fail at import, with a message that names them."""

import datetime as dt
from typing import Any, Literal

import pytest
from pydantic import ValidationError

from daicho import (
    Aggregate,
    Count,
    Domain,
    Edge,
    Entity,
    Expires,
    Key,
    Listing,
    Search,
    Split,
    Sum,
    copied,
    created_at,
    field,
    folded,
    month,
    one_of,
    ref,
    refs,
    uid,
)
from daicho.declare.compiler import compile_entity
from daicho.declare.entity import values_of
from daicho.declare.fields import FieldSpec
from daicho.declare.queries import Figure, Many, One, Ranking
from daicho.declare.registry import Daicho
from daicho.errors import DeclarationError
from daicho.plan import Ledger

DAY = dt.timedelta(days=1)


class Artist(Entity):
    id: str = uid()
    name: str = field()

    key = Key(id)
    search = Search(name)


class Sale(Entity):
    artist: str = ref(Artist)
    id: str = uid()
    at: dt.datetime = field()
    price: int = field(default=1, ge=0)
    state: Literal["open", "paid"] = field(default="open")
    artist_name: str = copied(artist, Artist.name)
    tags: set[str] = refs(Artist)
    note: str = ""

    key = Key(artist, id)
    open = Listing(artist, where=one_of(state, "open"))
    newest = Listing(order=created_at)
    revenue = Aggregate(Sum(price), artist, within=month(at), ranked=True, on_expiry="keep")
    expires = Expires(DAY, archive=True)


class Likes(Entity):
    artist: str = ref(Artist)
    fan: str = field()

    key = Edge(artist, fan)


def test_a_class_is_its_fields_and_declarations() -> None:
    assert list(Sale.fields_) == [
        "artist",
        "id",
        "at",
        "price",
        "state",
        "artist_name",
        "tags",
        "note",
    ]
    assert list(Sale.declarations_) == ["key", "open", "newest", "revenue", "expires"]
    title: Any = Artist.name
    assert isinstance(title, FieldSpec) and str(title) == "Artist.name"


def test_a_called_declaration_is_a_question() -> None:
    assert Sale.key("a", "1") == One(Sale, ("a", "1"))
    assert Sale.key.all("a") == Many(Sale, "partition", "key", ("a",))
    assert Sale.open("a") == Many(Sale, "listing", "open", ("a",))
    assert Artist.search("q") == Many(Artist, "search", "search", ("q",))
    assert Likes.key.inverse("f") == Many(Likes, "inverse", "key", ("f",))
    assert Sale.revenue("2026-11", "a") == Figure(Sale, "revenue", ("2026-11",), ("a",))
    assert Sale.revenue.top("2026-11") == Ranking(Sale, "revenue", ("2026-11",))
    with pytest.raises(TypeError, match=r"Sale\.revenue takes 2 values, not 1"):
        Sale.revenue("2026-11")


def test_an_item_validates_its_values() -> None:
    item = Artist(name="Aja")
    assert len(item.id) == 26 and item.version == 0
    assert values_of(item) == {"id": item.id, "name": "Aja"}
    with pytest.raises(ValidationError, match="nmae"):
        Artist(nmae="Aja")  # type: ignore[call-arg]
    with pytest.raises(ValidationError, match="256"):
        Artist(name="x" * 257)
    with pytest.raises(ValidationError, match="at least 1"):
        Artist(id="", name="x")
    with pytest.raises(ValidationError, match="at least 1"):
        Artist(name="")  # it is searched, and must be given
    with pytest.raises(AttributeError, match="not been stored"):
        _ = item.created_at


def test_what_is_searched_may_be_empty_where_it_need_not_be_given_or_says_so() -> None:
    class Person(Entity):
        id: str = uid()
        name: str = field(min_length=0)
        company: str = field(default="")

        key = Key(id)
        search = Search(name, company)

    assert values_of(Person(id="p", name="")) == {"id": "p", "name": "", "company": ""}


def test_ids_sort_by_the_time_they_were_made() -> None:
    earlier = "01jd000000aaaaaaaaaaaaaaaa"
    assert Artist(name="x").id > earlier


def test_the_plan_says_what_is_declared() -> None:
    domain = Domain("sales", Artist, Sale, Likes)
    ledger = Daicho(domain).appended(Ledger())
    plan = ledger.current("Sale").plan
    assert plan.fields == {
        "artist": "str",
        "at": "datetime",
        "id": "str",
        "price": "int",
        "state": "str",
    }
    assert [(each.name, each.order) for each in plan.listings] == [
        ("newest", ("created_at",)),
        ("open", ("created_at",)),
    ]
    assert plan.expires and plan.expires.seconds == 86_400
    assert ledger.current("Likes").plan.key.edge
    assert Ledger.from_json(ledger.to_json()) == ledger
    assert ledger.derived_types == ("Artist", "Sale")
    assert ledger.archived_types == ("Sale",)


def refused(match: str) -> Any:
    return pytest.raises(DeclarationError, match=match)


def test_misspelt_names() -> None:
    with refused("C reads undeclared 'nmae'; did you mean 'name'?"):

        class C(Entity):
            id: str = uid()
            name: str = field()
            key = Key(id)
            search = Search(nmae)  # type: ignore[name-defined]  # noqa: F821


def test_a_field_that_is_read_needs_a_right_side() -> None:
    with refused(r"C\.name is read by a declaration, so it needs a right-hand side: name: str = "):

        class C(Entity):
            id: str = uid()
            name: str
            key = Key(id)
            search = Search(name)  # noqa: F821


def test_reserved_names_missing_keys_and_types() -> None:
    with refused(r"C\.type: the name is reserved"):

        class C(Entity):
            id: str = uid()
            type: str
            key = Key(id)

    with refused("D has no key"):

        class D(Entity):
            id: str = uid()

    with refused(r"F\.name has no type"):

        class F(Entity):
            id: str = uid()
            name = field()
            key = Key(id)


def test_values_that_a_field_does_not_admit() -> None:
    class C(Entity):
        id: str = uid()
        state: Literal["open", "done"] = field()
        key = Key(id)
        open = Listing(id, where=one_of(state, "opne"))

    with refused(r"C\.open: 'opne' is no value of C\.state \('open', 'done'\)"):
        Domain("c", C)


def test_what_no_item_moves_by() -> None:
    class C(Entity):
        id: str = uid()
        state: str = field()
        set_once: str = field(frozen=True)
        key = Key(set_once, id, moves=state)

    with refused(r"C\.key: moves=state is no field of the key"):
        Domain("c", C)

    class D(Entity):
        id: str = uid()
        key = Key(id, moves=id)

    with refused(r"D\.key: D\.id is set once, so no item ever moves by it"):
        Domain("d", D)

    class E(Entity):
        id: str = uid()
        state: str = field()
        sections: dict[str, Any] = field()
        key = Key(state, id, moves=state)
        split = Split(sections)

    with refused(r"E\.split: what moves would leave its sections behind"):
        Domain("e", E)


def test_another_entitys_field() -> None:
    class C(Entity):
        id: str = uid()
        key = Key(id)
        revenue = Aggregate(Sum(Sale.price))

    with refused(r"C\.revenue reads Sale\.price: an image knows only its own fields. Copy it"):
        Domain("c", C)


def test_expiry_must_be_said_and_recountable() -> None:
    class C(Entity):
        id: str = uid()
        key = Key(id)
        count = Aggregate(Count())
        expires = Expires(DAY)

    with refused(r"C\.count does not say what expiry does to it"):
        Domain("c", C)

    class D(Entity):
        id: str = uid()
        key = Key(id)
        count = Aggregate(Count(), on_expiry="keep")
        expires = Expires(DAY)

    with refused(r"D\.count keeps what expires, but D is not archived"):
        Domain("d", D)


def test_kinds_that_a_declaration_cannot_read() -> None:
    class C(Entity):
        id: str = uid()
        size: float = field()
        key = Key(id)
        by_size = Listing(size)

    with refused(r"C\.by_size reads C\.size, which is json"):
        Domain("c", C)

    class D(Entity):
        id: str = uid()
        size: int = field()
        key = Key(id)
        titled = Listing(folded(size))  # type: ignore[arg-type]

    with refused(r"D\.titled reads D\.size, which is int; it takes str"):
        Domain("d", D)


def test_shards_never_move() -> None:
    class C(Entity):
        id: str = uid()
        shards: int = field()
        key = Key(id, shards=shards)

    with refused(r"C\.key: C\.shards must be frozen"):
        Domain("c", C)


def test_copies_follow_their_reference() -> None:
    class C(Entity):
        artist: str = ref(Artist)
        id: str = uid()
        price: int = copied(artist, Sale.price)
        key = Key(artist, id)

    with refused(r"C\.price copies Sale\.price, but C\.artist refers to Artist"):
        Domain("c", C)


def test_a_ranking_has_members_and_one_that_is_none_is_not_asked() -> None:
    with refused("a ranked Aggregate needs members"):
        Aggregate(Count(), ranked=True)

    class C(Entity):
        id: str = uid()
        key = Key(id)
        count = Aggregate(Count())

    with refused(r"C\.count is not ranked"):
        C.count.top()


def test_only_a_ranking_is_spread_over_shards() -> None:
    class C(Entity):
        id: str = uid()
        song: str = field()
        key = Key(id)
        chart = Aggregate(Count(), song, ranked=True, shards=3)

        with refused("a ranking's shards are a number from 1 to 100, not 0"):
            Aggregate(Count(), song, ranked=True, shards=0)
        with refused("a ranking's shards are a number from 1 to 100, not 101"):
            Aggregate(Count(), song, ranked=True, shards=101)
        with refused("shards spread a ranking, and this Aggregate is not ranked"):
            Aggregate(Count(), song, shards=3)

    (chart,) = compile_entity(C).aggregates
    assert chart.shards == 3


def test_an_aggregate_says_if_it_is_rolled_up_at_once() -> None:
    class C(Entity):
        id: str = uid()
        song: str = field()
        key = Key(id)
        prompt = Aggregate(Count(), song, rolled_up="at once")
        usual = Aggregate(Count(), song)

        with refused("rolled_up 'by schedule' or 'at once', not 'now'"):
            Aggregate(Count(), song, rolled_up="now")  # type: ignore[arg-type]

    found = {each.name: each.rolled_up for each in compile_entity(C).aggregates}
    assert found == {"prompt": "at once", "usual": "by schedule"}


def test_a_default_that_stands_for_no_field_is_refused() -> None:
    with refused("a Key's shards are a number or a field"):

        class C(Entity):
            id: str = uid()
            note: str | None = None
            key = Key(id, shards=note)

    with refused("a declaration takes fields; None is none"):

        class D(Entity):
            id: str = uid()
            note: str | None = None
            key = Key(id)
            total = Aggregate(Sum(note))


def test_a_reference_takes_an_entity() -> None:
    with refused("ref\\(\\) takes an entity, not 'Artist'"):
        ref("Artist")  # type: ignore[arg-type]
