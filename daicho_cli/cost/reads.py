"""Units of reads: items, pages of lists, searches and figures. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, sqrt
from typing import Any

from daicho.plan import AggregatePlan, EntityPlan, SearchPlan
from daicho.search.grams import HOT_GRAM, Keyword, KeywordError, get_steps
from daicho.search.posting_lists import FIRST_BLOCK_ROWS
from daicho.storage.attributes import Image, measure_image
from daicho_cli.cost.counting import build_slot
from daicho_cli.cost.examples import build_pieces, build_stored_item, build_version_item
from daicho_cli.cost.traffic import Assumptions, FigureTraffic, PageTraffic, TrafficError
from daicho_cli.cost.units import Units, measure_get, measure_read, select_entry
from daicho_cli.cost.writes import EntityShape, list_row_images

Measure = Callable[[Image, Mapping[str, Any]], float]
SCORE_BYTES = 29
"""A score in the key of a ranking."""
ENTRY_BYTES = 30
"""The names of the attributes of an entry of a ranking, the sort key of a total, and a total."""
COLLECTION, INVERSE, VERSIONS = "key", "inverse", "versions"
"""The names of lists that are no declarations of their own."""


@dataclass(frozen=True)
class EntityReads:
    """Reads of the items of one entity, which are like ``examples``: their values and images."""

    plan: EntityPlan
    shape: EntityShape
    assumptions: Assumptions
    examples: Sequence[tuple[Mapping[str, Any], Image]]

    def estimate_items(self, count: float) -> Units:
        """The units of so many items by their keys, strongly consistent."""
        return self._sum_examples(self._measure_item, count)

    def estimate_sections(self, count: float) -> Units:
        """The units of so many single sections of split items: the mean of their sections."""
        return self._sum_examples(self._measure_section, count)

    def estimate_page(self, name: str, page: PageTraffic, related: Units) -> Units:
        """The units of one page of a list.

        ``related``: the units of the names that a search reaches through other items.

        Raises:
            TrafficError: the entity has no list of that name, or the keyword cannot be searched
                for.
        """
        plan = self.plan
        if name == INVERSE:  # an edge from its other end
            entries = [entry for i in self._stored if (entry := select_entry("GSI1", i))]
            size = _mean_size(entries) * min(page.items, page.limit + 2)
            return Units(read=measure_read(size, consistent=False))
        if name == COLLECTION:
            return Units(read=self._measure_collection(page))
        if name == VERSIONS and plan.versions is not None:
            # A copy may have no version item yet, so the item itself is read as well.
            own = _mean_get(self._stored) if plan.versions == "copy" else 0.0
            shown = min(page.items, page.limit + 1)
            return Units(read=own + measure_read(_mean_size(self._versions) * shown))
        fetched = 0.0 if page.copied else page.items * _mean_get(self._stored, consistent=False)
        if plan.versions == "pointer" and not page.copied:
            fetched += page.items * _mean_get(self._versions)
        listing = next((each for each in plan.listings if each.name == name), None)
        search = next((each for each in plan.searches if each.name == name), None)
        row_bytes = _mean_size(self._list_entries(name))
        if listing is not None:
            return Units(read=fetched + _estimate_lists(listing.shards, page, row_bytes))
        if search is None:
            raise TrafficError(f"{plan.name} has no list called {name!r}")
        lists, first = _count_lists(search, page)
        names = related * self.assumptions.cache_misses if page.keyword else Units()
        return Units(read=fetched + _estimate_lists(lists, page, row_bytes, first)) + names

    @cached_property
    def _stored(self) -> list[Image]:
        return [build_stored_item(self.plan, image) for _, image in self.examples]

    @cached_property
    def _versions(self) -> list[Image]:
        return [build_version_item(self.plan, image) for _, image in self.examples]

    @property
    def _key_units(self) -> float:
        return self.assumptions.cache_misses if self.shape.keyed else 0.0

    def _sum_examples(self, measure: Measure, count: float) -> Units:
        sums = sum(measure(image, values) for values, image in self.examples)
        return Units(read=sums * (count / len(self.examples)))

    def _measure_item(self, image: Image, values: Mapping[str, Any]) -> float:
        if self.plan.versions == "pointer":
            return self._key_units + measure_get(build_version_item(self.plan, image))
        stored = build_stored_item(self.plan, image)
        if self.plan.split is None:
            return self._key_units + measure_get(stored)
        # The head is read before and after the sections, which shows that nothing has changed.
        total = sum(map(measure_image, build_pieces(self.plan, image, values)))
        return self._key_units + 2 * measure_get(stored) + measure_read(total)

    def _measure_section(self, image: Image, values: Mapping[str, Any]) -> float:
        return measure_get(image) + _mean_get(build_pieces(self.plan, image, values))

    def _measure_collection(self, page: PageTraffic) -> float:
        """Items of a partition with its shards."""
        shards = self.plan.key.shards
        lists = shards if isinstance(shards, int) else 1
        if isinstance(shards, str):
            numbers = [int(image[shards]["N"]) for image in self._stored if shards in image]
            lists = round(sum(numbers) / len(numbers)) if numbers else 1
        share = page.limit / lists
        block = ceil(share + sqrt(share)) + 1
        rows = block if page.items >= page.limit else min(page.items / lists, block)
        units = lists * measure_read(_mean_size(self._stored) * rows)
        if self.plan.versions == "pointer":
            units += page.items * _mean_get(self._versions)
        return units + self._key_units

    def _list_entries(self, name: str) -> list[Image]:
        # The images are stored: a pointer derives what its key and its own attributes give.
        return [
            entry
            for image in self._stored
            for declaration, row in list_row_images(self.plan, image)
            if declaration == name and (entry := select_entry("GSI2", row)) is not None
        ]


def estimate_figures(
    aggregate: AggregatePlan, figure: FigureTraffic, tally: str, slots: float
) -> Units:
    """The units of all readings of an aggregate. ``slots``: how many slots a tally has."""
    size = measure_image(build_slot(tally, aggregate))
    # Of a series, one chunk is read, and the values of members of one bucket.
    ends = sum(each.has_min + each.has_max for each in aggregate.measured_fields)
    member_values = ends * measure_read(0, consistent=False)
    one = measure_read(size, consistent=False) + member_values
    live = 2 * measure_read(size) + measure_read(size * (slots + 1)) + member_values
    entry = _measure_ranking_entry(tally)
    ahead = aggregate.shards * measure_read(
        entry * figure.rank / aggregate.shards, consistent=False
    )
    rows = figure.top_items + 1
    top = aggregate.shards * measure_read(entry * rows, consistent=False)
    if aggregate.measure == "sum" or aggregate.figures:
        top += figure.top_items * (measure_read(size, consistent=False) + member_values)
    units = figure.reads * one + figure.live * live
    return Units(read=units + figure.ranks * (one + ahead) + figure.tops * top)


def estimate_vote_reads(figure: FigureTraffic, assumptions: Assumptions) -> Units:
    """The reads of a vote of a fast counter: the head of the counter, and its poll."""
    head = measure_read(0, consistent=False)
    return Units(read=figure.votes * assumptions.cache_misses * (head + measure_read(0)))


def _estimate_lists(
    lists: int, page: PageTraffic, row_bytes: float, first: int | None = None
) -> float:
    """The index rows of a page, which its lists share.

    ``first``: the rows of the first read of each list; by default a share of the page, and a tenth
    more. A page that is not full has read its lists to their ends.
    """
    share = (page.limit + max(2, page.limit // 10)) // lists
    rows = page.items / lists
    if page.items >= page.limit:
        rows = max(rows, first or max(FIRST_BLOCK_ROWS, share))
    return lists * measure_read(row_bytes * rows, consistent=False)


def _count_lists(search: SearchPlan, page: PageTraffic) -> tuple[int, int | None]:
    """How many posting lists a keyword reads, and the rows of the first read of each, if fixed."""
    if not page.keyword:
        return search.shards, None
    try:
        keyword = Keyword.parse(page.keyword, search.all_rules)
    except KeywordError as error:
        raise TrafficError(f"keyword {page.keyword!r}: {error}") from error
    steps = get_steps(search)
    lists, choices = 0, 0
    for term in keyword.terms:
        for alternatives in term.compute_probes(steps):
            choices += len(alternatives) > 1
            lists += sum(search.shards if len(p.gram) <= HOT_GRAM else 1 for p in alternatives)
    return max(1, lists), FIRST_BLOCK_ROWS if choices or lists > 1 else None


def _measure_ranking_entry(tally: str) -> int:
    """The entry of a member in GSI3: keys of its total and of the index, a score, and the total."""
    return 2 * len(tally) + SCORE_BYTES + ENTRY_BYTES


def _mean_size(images: Sequence[Image]) -> float:
    return sum(map(measure_image, images)) / len(images) if images else 0.0


def _mean_get(images: Sequence[Image], *, consistent: bool = True) -> float:
    reads = [measure_get(image, consistent=consistent) for image in images]
    return sum(reads) / len(reads) if reads else 0.0
