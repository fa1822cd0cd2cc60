"""Contacts of a call centre, generated from a seed: every run has the same contacts."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Generic, TypeVar

from ulid import ULID

from bench.search import name_corpus
from bench.search.name_corpus import Weighted

T = TypeVar("T")
CONTACTS_A_COMPANY = 8
LATIN = 0.06
"""Share of contacts, and of companies, that are written in Latin letters."""

BURST = 0.3
"""Share of contacts that came by file, many of them with the same second of creation."""

WITH_COMPANY, WITH_PHONE, WITH_EMAIL = 0.8, 0.95, 0.7
"""Shares of contacts: one in five is a private person."""

FIRST = dt.datetime(2021, 4, 1, tzinfo=dt.UTC)
SECONDS = 5 * 365 * 24 * 3600
CATEGORIES_OF_A_CONTACT = {0: 35, 1: 40, 2: 15, 3: 7, 5: 3}
PHONE_FORMS = {"hyphens": 70, "digits": 12, "abroad": 8, "brackets": 5, "wide": 5}


@dataclass(frozen=True)
class Category:
    """A category of contacts."""

    id: str
    name: str
    created: dt.datetime


@dataclass(frozen=True)
class Contact:
    """A contact: its fields in the form that a caller sends, and its creation time."""

    id: str
    created: dt.datetime
    name: str
    company: str
    phone: str
    email: str
    categories: tuple[Category, ...]


class WeightedChoice(Generic[T]):
    """Random values by their weights."""

    def __init__(
        self, source: random.Random, values: Sequence[T], weights: Sequence[float]
    ) -> None:
        self._source, self._values = source, values
        self._weights = list(accumulate(weights))

    def __call__(self) -> T:
        """One random value."""
        return self._source.choices(self._values, cum_weights=self._weights)[0]


class Crowd:
    """Contacts of one tenant and its categories, generated from ``seed``."""

    def __init__(
        self,
        size: int,
        seed: str,
        categories: Sequence[str] = tuple(name_corpus.WORDS["categories"]),
    ) -> None:
        self.size = size
        source = self._source = random.Random(f"{seed} {size}")  # noqa: S311 (the same in every run)
        self.categories = [
            Category(self._id(FIRST), name, FIRST + dt.timedelta(seconds=number))
            for number, name in enumerate(categories)
        ]
        self._surname = _of(source, name_corpus.SURNAMES)
        self._given = _of(source, name_corpus.GIVEN)
        self._latin_given = _ranked(source, name_corpus.WORDS["latin given"])
        self._latin_surname = _ranked(source, name_corpus.WORDS["latin surnames"])
        self._form = _by(source, PHONE_FORMS)
        self._many = _by(source, CATEGORIES_OF_A_CONTACT)
        self._category = _ranked(source, self.categories, 0.7)
        companies = list(self._companies(max(20, size // CONTACTS_A_COMPANY)))
        self._company = _ranked(source, companies, 0.6)

    def __iter__(self) -> Iterator[Contact]:
        """The contacts, oldest first. The iteration can be done once."""
        source, moment = self._source, FIRST
        gap = SECONDS / self.size / (1 - BURST)
        for _ in range(self.size):
            burst = source.random() < BURST
            seconds = source.randrange(3) / 1000 if burst else source.expovariate(1 / gap)
            moment += dt.timedelta(seconds=seconds)
            name, mailbox = self._person()
            company, domain = self._company() if source.random() < WITH_COMPANY else ("", "")
            picked = {self._category() for _ in range(self._many())} if self.categories else ()
            yield Contact(
                self._id(moment),
                moment,
                name,
                company,
                self._phone() if source.random() < WITH_PHONE else "",
                self._email(mailbox, domain) if source.random() < WITH_EMAIL else "",
                tuple(sorted(picked, key=lambda category: category.id)),
            )

    def _id(self, moment: dt.datetime) -> str:
        stamp = int(moment.timestamp() * 1000).to_bytes(6, "big")
        return str(ULID(stamp + self._source.randbytes(10))).lower()

    def _person(self) -> tuple[str, str]:
        if self._source.random() < LATIN:
            given, surname = self._latin_given(), self._latin_surname()
            return f"{given} {surname}", f"{given}.{surname}".lower()
        (surname, latin_surname, _), (given, latin_given, _) = self._surname(), self._given()
        between = "" if self._source.random() < 0.05 else " "
        return f"{surname}{between}{given}", f"{latin_given}.{latin_surname}"

    def _companies(self, many: int) -> Iterator[tuple[str, str]]:
        source = self._source
        place, trade, coined = (
            _of(source, weighted)
            for weighted in (name_corpus.PLACES, name_corpus.TRADES, name_corpus.COINED)
        )
        surname = _of(source, name_corpus.SURNAMES)
        ahead = _by(source, name_corpus.DESIGNATORS)
        last = _by(source, name_corpus.DOMAINS)
        for number in range(many):
            if source.random() < LATIN:
                core, kind = (
                    source.choice(name_corpus.WORDS["latin cores"]),
                    source.choice(name_corpus.WORDS["latin trades"]),
                )
                called = f"{core} {kind} {source.choice(name_corpus.LATIN_DESIGNATORS)}".strip()
                yield called, f"{core}{kind}".lower() + ".com"
                continue
            head, latin, _ = source.choice((place, coined, coined, surname))()
            middle = coined()[0] if source.random() < 0.15 else ""
            tail, latin_tail, _ = trade()
            designator, core = ahead(), f"{head}{middle}{tail}"
            called = f"{core}{designator}" if source.random() < 0.3 else f"{designator}{core}"
            yield called, f"{latin}-{latin_tail}{number % 97}.{last()}"

    def _phone(self) -> str:
        source = self._source
        kind = source.random()
        line = source.randrange(10_000)
        if kind < 0.55:
            parts = source.choice(("090", "080", "070")), f"{source.randrange(1000, 10_000)}"
        elif kind < 0.75:
            parts = source.choice(("03", "06")), f"{source.randrange(3000, 7000)}"
        elif kind < 0.92:
            parts = f"0{source.randrange(22, 99)}", f"{source.randrange(200, 999)}"
        else:
            parts = source.choice(("0120", "0800", "050")), f"{source.randrange(100, 999)}"
        digits = (*parts, f"{line:04d}")
        match self._form():
            case "hyphens":
                return "-".join(digits)
            case "digits":
                return "".join(digits)
            case "abroad":
                return f"+81-{digits[0][1:]}-{digits[1]}-{digits[2]}"
            case "brackets":
                return f"{digits[0]}({digits[1]}){digits[2]}"
            case _:
                return "-".join(digits).translate(_WIDE)

    def _email(self, mailbox: str, domain: str) -> str:
        source = self._source
        plain = mailbox.replace("'", "")
        if not domain or source.random() < 0.15:
            local = f"{plain.replace('.', '')}{source.randrange(1000)}"
            return f"{local}@{source.choice(name_corpus.FREE_MAIL)}"
        surname = plain.rsplit(".", 1)[-1]
        return f"{source.choice((plain, surname, f'{plain[0]}.{surname}'))}@{domain}"


_WIDE = {ord("0") + digit: ord("\N{FULLWIDTH DIGIT ZERO}") + digit for digit in range(10)}


def _of(source: random.Random, weighted: Weighted) -> WeightedChoice[tuple[str, str, float]]:
    return WeightedChoice(source, weighted, [weight for _, _, weight in weighted])


def _by(source: random.Random, weights: Mapping[T, float]) -> WeightedChoice[T]:
    return WeightedChoice(source, tuple(weights), tuple(weights.values()))


def _ranked(source: random.Random, values: Sequence[T], skew: float = 0.5) -> WeightedChoice[T]:
    """Weights by Zipf's law: the nth value is n ** -skew times as frequent as the first."""
    return WeightedChoice(source, values, [(rank + 1) ** -skew for rank in range(len(values))])
