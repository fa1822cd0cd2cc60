"""Searches against brute force: any text, lists that lag, edits, renames and deletes between pages.

The oracle goes over the items and knows nothing of grams, lists or cursors; how values and keywords
read is common (`daicho.search.normalise`) and has tests of its own.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daicho import Domain, Entity, Key, Listing, Search, each, refs, through, uid
from daicho import field as declared
from daicho.book.book import Book
from daicho.declare.entity import get_values
from daicho.declare.queries import ListQuery
from daicho.declare.registry import Daicho
from daicho.items.mapper import to_item
from daicho.layout import item_keys
from daicho.plan import Ledger, TextRules
from daicho.query import page_reader, related_search
from daicho.search import pager, posting_lists
from daicho.search.normalise import compute_meanings, compute_readings, fold, has_words
from daicho.storage.attributes import ItemKey
from tests.property.lagging import NOON, TENANT, Shelf, walked


class Group(Entity):
    id: str = uid()
    name: str = declared()

    key = Key(id, partition=0)


class Person(Entity):
    id: str = uid()
    name: str = declared(default="")
    company: str = declared(default="", kind="company")
    phone: str = declared(default="", kind="phone")
    groups: set[str] = refs(Group)

    key = Key(id)
    begins = Search(name, company, phone, through(groups, Group.name))
    inside = Search(name, phone, through(groups, Group.name), mode="contains", shards=2)
    sparse = Search(name, company, steps=(1, 3), shards=3)
    in_group = Listing(each(groups))


LEDGER = Daicho(Domain("test", Group, Person)).append_generations(Ledger())
NAME, COMPANY = ("name", TextRules("text")), ("company", TextRules("company"))
PHONE = ("phone", TextRules("phone", region="JP"))
FIELDS: dict[str, tuple[tuple[str, TextRules], ...]] = {
    "begins": (NAME, COMPANY, PHONE),
    "inside": (NAME, PHONE),
    "sparse": (NAME, COMPANY),
}

LATIN = (
    *("a", "ab", "abc", "abcd", "abce", "abcdefgh", "abcdefghi", "b", "ba", "Á", "ß", "İb"),
    *("a-b", "ab’c", "a/b/c", "æb", "aø", "a&b", "-", "a‐", "ab.c"),
)
JAPANESE = ("山田", "山田太郎", "山本", "ヤマダ", "やまだ", "ﾔﾏﾀﾞ", "が", "か\u3099", "㈱山田", "山")
HOSTILE = ("#", "$", "a#b", "$23", "\x00", "~", "\U0010ffff", "\u0301", "\u200d", "a\u0378", "%")
PHONES = (
    *("03-1234-5678", "+81 3 1234 5678", "0312", "(03) 12", "12", "3", "03-12", "ext"),
    *("+44 (0)20 7946 0018", "004420", "020 79", "٠٣", "+4"),
)
COMPANIES = (
    "株式会社 山田",
    "(株)山田",
    "Ab Inc.",
    "ab, inc",
    "Ab Co., Ltd.",
    "株式会社",
    "b 有限会社",
)
WORD = st.sampled_from(LATIN + JAPANESE + HOSTILE)
TEXT = st.lists(WORD, max_size=3).map(" ".join)
GROUPS = st.lists(TEXT.filter(bool), max_size=4)
PEOPLE = st.builds(
    lambda number, name, company, phone, groups: Person(
        id=f"p{number}", name=name, company=company, phone=phone, groups=groups
    ),
    st.integers(0, 7),
    TEXT,
    st.one_of(st.sampled_from(COMPANIES), TEXT),
    st.one_of(st.sampled_from(PHONES), st.just("")),
    st.sets(st.sampled_from(["g0", "g1", "g2", "g3"]), max_size=2),
)
TYPED = st.one_of(
    WORD,
    st.lists(WORD, min_size=2, max_size=3).map(" ".join),
    st.sampled_from(COMPANIES + PHONES),
    st.tuples(st.sampled_from(COMPANIES + PHONES + JAPANESE + LATIN), st.integers(1, 5)).map(
        lambda typed: typed[0][: typed[1]]
    ),
    st.sampled_from(("", " ", "\u3000")),
)
QUESTIONS = st.tuples(st.sampled_from(sorted(FIELDS)), TYPED).map(
    lambda asked: getattr(Person, asked[0])(asked[1])
)
RANDOM = st.integers(0, 2**32).map(random.Random)


@dataclass(frozen=True)
class Oracle:
    """Whether an item matches, by going over its values."""

    question: ListQuery[Any]

    def finds(self, person: Person, groups: dict[str, str]) -> bool:
        (keyword,) = self.question.parts
        if not keyword:
            return True
        folded = fold(keyword)
        values = [
            (reading, self.question.name == "inside")
            for name, rules in FIELDS[self.question.name]
            for reading in compute_readings(getattr(person, name), rules)
        ]
        if self.question.name != "sparse":
            inside = self.question.name == "inside"
            names = (groups[id] for id in person.groups if id in groups)
            values += [(text, inside) for name in names for text in compute_readings(name, NAME[1])]
        all_rules = [rules for _, rules in FIELDS[self.question.name]]
        hits: Callable[[str], bool] = lambda term: any(  # noqa: E731
            _stands(meant, *value)
            for meant in compute_meanings(term, all_rules)
            for value in values
        )
        words = [word for word in folded.split() if has_words(word)] or folded.split()
        return bool(folded) and (hits(folded) or all(map(hits, words)))


def _stands(meant: str, reading: str, inside: bool) -> bool:
    words = reading.split(" ")
    if inside:
        return meant in "".join(words)
    return any("".join(words[start:]).startswith(meant) for start in range(len(words)))


def people(shelf: Shelf) -> list[Person]:
    """All that exist, newest first."""
    images = [image for image in shelf.items.values() if image["type"]["S"] == "Person"]
    found = [to_item(Person, image, LEDGER) for image in images]
    return sorted(found, key=lambda person: (person.created_at, person.id), reverse=True)


def group_names(shelf: Shelf) -> dict[str, str]:
    images = [image for image in shelf.items.values() if image["type"]["S"] == "Group"]
    return {group.id: group.name for group in (to_item(Group, image, LEDGER) for image in images)}


def listed(shelf: Shelf, question: ListQuery[Any]) -> list[str]:
    groups, oracle = group_names(shelf), Oracle(question)
    return [person.id for person in people(shelf) if oracle.finds(person, groups)]


def shelf_of(persons: list[Person], groups: list[str], draw: random.Random) -> Shelf:
    """A shelf whose index shows all that there is; reads may still be of an older version."""
    shelf = Shelf(LEDGER, draw)
    for number, name in enumerate(groups):
        shelf.write(Group(id=f"g{number}", name=name), NOON)
    for person in persons:
        # Few moments for many items: ties are decided by the id.
        created = NOON + dt.timedelta(seconds=draw.randint(0, 3))
        older = Person(**{**get_values(draw.choice(persons)), "id": person.id})
        shelf.write(older, created)
        shelf.write(person, created)
    shelf.catch_up(list(shelf.items))
    return shelf


@contextmanager
def circumstances(draw: random.Random) -> Iterator[None]:
    """Budgets that end anywhere, and every way of reading that large lists would bring about."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_reader, "UNITS", draw.choice([2.5, 4.0, 9.0, 300.0]))
        patch.setattr(pager, "REQUESTS", draw.choice([2, 5, 50]))
        patch.setattr(related_search, "MAX_MERGED", draw.choice([0, 64]))
        walks = draw.random() < 0.5
        patch.setattr(related_search.RelatedSearch, "_is_cheaper_to_read_all", lambda *_: walks)
        patch.setattr(posting_lists, "MAX_ROWS_PER_MATCH", draw.choice([1, 2, 27]))
        patch.setattr(posting_lists, "MIN_JUDGED_READS", draw.choice([1, 3]))
        yield


def related(
    question: ListQuery[Any], persons: list[Person], groups: list[str], draw: random.Random
) -> ListQuery[Any]:
    """Half of the time a question that somebody answers, by values or groups."""
    person = draw.choice(persons)
    words = f"{person.name} {person.company} {person.phone}".split() or [""]
    named = [groups[int(id[1])] for id in person.groups if int(id[1]) < len(groups)]
    chosen = draw.choice(words)[: draw.randint(1, 4)]
    if named and draw.random() < 0.5:
        chosen += f" {draw.choice(named)[: draw.randint(1, 4)]}"
    return question if draw.random() < 0.5 else replace(question, parts=(chosen,))


def test_what_begins_with_0_is_found_whatever_follows() -> None:
    persons = [Person(id=f"p{digit}", phone=f"0{digit}12345678") for digit in range(10)]
    persons += [Person(id="p-", name="0"), Person(id="px", name="0x"), Person(id="py", name="x")]
    shelf, draw = shelf_of(persons, [], random.Random(1)), random.Random(2)
    shelf.before.clear()
    book, question = Book(shelf, LEDGER, TENANT, parallelism=1), Person.begins("0")
    found = [person.id for page in walked(book, (question,), draw) for person in page]
    assert found == listed(shelf, question)
    assert len(found) == 12


MANY = settings(max_examples=2 * settings().max_examples)


@MANY
@given(st.lists(PEOPLE, min_size=3, max_size=12), GROUPS, QUESTIONS, RANDOM)
def test_a_walk_is_brute_force(
    persons: list[Person], groups: list[str], question: ListQuery[Any], draw: random.Random
) -> None:
    question = related(question, persons, groups, draw)
    shelf = shelf_of(persons, groups, draw)
    shelf.before.clear()
    book = Book(shelf, LEDGER, TENANT, parallelism=1)
    with circumstances(draw):
        found = [person.id for page in walked(book, (question,), draw) for person in page]
    assert found == listed(shelf, question)


@MANY
@given(
    st.lists(PEOPLE, min_size=3, max_size=12),
    st.lists(st.one_of(PEOPLE, st.tuples(st.integers(0, 3), TEXT)), min_size=4, max_size=16),
    GROUPS,
    QUESTIONS,
    RANDOM,
)
def test_a_walk_while_everything_changes(
    persons: list[Person],
    edits: list[Any],
    groups: list[str],
    question: ListQuery[Any],
    draw: random.Random,
) -> None:
    """What is shown matches; what matched all the time is shown, once; in order."""
    question = related(question, persons, groups, draw)
    shelf = shelf_of(persons, groups, draw)
    shelf.falters = draw.random() < 0.3
    oracle = Oracle(question)
    matching = set(listed(shelf, question))
    edited: set[str] = set()
    renamed = False
    seen: list[str] = []
    orders: list[tuple[dt.datetime, str]] = []
    with circumstances(draw):
        for page in walked(Book(shelf, LEDGER, TENANT, parallelism=1), (question,), draw):
            names = group_names(shelf)
            for person in page:
                assert oracle.finds(person, names)
                key = ItemKey(f"{TENANT}#Person#{person.id}", "-")
                lately = [shelf.items.get(key), shelf.before.get(key)]
                assert person in [
                    to_item(Person, image, LEDGER) for image in lately if image is not None
                ]
                seen.append(person.id)
                orders.append((person.created_at, person.id))
            for _ in range(min(len(edits), draw.randint(0, 3))):
                edit = edits.pop()
                renamed |= isinstance(edit, tuple)
                if not isinstance(edit, tuple):
                    edited.add(edit.id)
                matching -= change(shelf, edit, draw)
                matching &= set(listed(shelf, question))
    assert orders == sorted(set(orders), reverse=True)
    for id in matching - (edited if renamed else set()):
        assert seen.count(id) == 1


@given(RANDOM)
def test_who_is_made_anew_is_shown_in_the_new_place(draw: random.Random) -> None:
    shelf = shelf_of([Person(id=f"p{number}", name="ab") for number in range(6)], [], draw)
    edits = [Person(id=f"p{draw.randint(0, 7)}", name="ab") for _ in range(10)]
    orders: list[tuple[dt.datetime, str]] = []
    book = Book(shelf, LEDGER, TENANT, parallelism=1)
    for page in walked(book, (Person.begins("ab"),), draw):
        orders += [(person.created_at, person.id) for person in page]
        for _ in range(min(len(edits), draw.randint(0, 3))):
            change(shelf, edits.pop(), draw)
    assert orders == sorted(set(orders), reverse=True)


def change(shelf: Shelf, edit: Any, draw: random.Random) -> set[str]:
    """An item is written or deleted, a group renamed or deleted; the index follows or lags.

    Gives the ids of what did not exist all the time.
    """
    if isinstance(edit, tuple):
        number, name = edit
        if name:
            shelf.write(Group(id=f"g{number}", name=name), NOON)
        else:
            shelf.remove(ItemKey(f"{TENANT}#Group", f"g{number}"))
        return set()
    key = ItemKey(f"{TENANT}#Person#{edit.id}", "-")
    known = shelf.items.get(key)
    gone = known is None or draw.random() < 0.4
    if gone:
        shelf.remove(key)
    if not gone or draw.random() < 0.6:
        anew = NOON + dt.timedelta(seconds=draw.randint(0, 3))
        shelf.write(
            edit, anew if known is None or gone else to_item(Person, known, LEDGER).created_at
        )
    if draw.random() < 0.5:
        late = sorted(key for key in shelf.before if "Person" in key.pk)
        shelf.catch_up(draw.sample(late, len(late) // 2), wholly=draw.random() < 0.7)
    return {edit.id} if gone else set()


def test_a_person_of_nothing_but_delimiters_is_found_and_nothing_else() -> None:
    draw = random.Random(1)
    names = ["#", "##", "#2", "$23", "a#b", "", "2"]
    shelf = shelf_of([Person(id=f"p{n}", name=name) for n, name in enumerate(names)], [], draw)
    shelf.before.clear()
    for question in (Person.begins, Person.inside, Person.sparse):
        for keyword in ("#", "##", "#2", "$", "$23", "2", "a#"):
            pages = walked(Book(shelf, LEDGER, TENANT, parallelism=1), (question(keyword),), draw)
            found = [person.id for page in pages for person in page]
            assert found == listed(shelf, question(keyword))


def test_rows_of_one_item_may_fill_more_than_a_block() -> None:
    name = " ".join(f"aaa{chr(98 + n % 20)}{n}" for n in range(20))
    persons = [Person(id=f"p{number}", name=name) for number in range(3)]
    draw = random.Random(2)
    shelf = shelf_of(persons, [], draw)
    shelf.before.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_reader, "UNITS", 2.5)
        for keyword in ("aaab", "aaau", "aaaz"):
            pages = walked(
                Book(shelf, LEDGER, TENANT, parallelism=1), (Person.begins(keyword),), draw
            )
            found = [person.id for page in pages for person in page]
            assert found == listed(shelf, Person.begins(keyword))


def test_every_derived_key_is_the_persons_own() -> None:
    shelf = shelf_of(
        [Person(id="p1", name="a#b", company="$", phone="03")], ["x"], random.Random(3)
    )
    assert {item_keys.parse_derived_partition(row.pk) for row in shelf.rows} == {
        ItemKey("t#Person#p1", "-")
    }
