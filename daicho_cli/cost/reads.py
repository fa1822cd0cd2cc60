"""Units of reads: items, pages of lists, searches and figures. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, sqrt
from typing import Any, TypeVar

from daicho.layout import sections
from daicho.plan import AggregatePlan, EntityPlan, ListingPlan, SearchPlan
from daicho.search.analyzer import get_steps
from daicho.search.grams import HOT_GRAM
from daicho.search.keyword import Keyword, KeywordError
from daicho.search.posting_lists import FIRST_BLOCK_ROWS
from daicho.storage.attributes import Image, measure_image
from daicho.storage.item_key import get_key
from daicho_cli.cost.counting import build_slot
from daicho_cli.cost.derived_writes import list_row_images
from daicho_cli.cost.events import EntityShape
from daicho_cli.cost.examples import build_stored_item, build_version_item, split_sections
from daicho_cli.cost.traffic import Assumptions, FigureTraffic, PageTraffic, TrafficError
from daicho_cli.cost.units import Units, measure_get, measure_read, select_entry

Declared = TypeVar("Declared", ListingPlan, SearchPlan)
SCORE_BYTES = 29
"""A score in the key of a ranking."""
ENTRY_BYTES = 30
"""The names of the attributes of an entry of a ranking, the sort key of a total, and a total."""
COLLECTION, INVERSE, VERSIONS = "key", "inverse", "versions"
"""The names of lists that are no declarations of their own."""


def estimate_item_read(
    plan: EntityPlan,
    shape: EntityShape,
    example: Image,
    values: Mapping[str, Any],
    assumptions: Assumptions,
) -> Units:
    """The units of one item by its key, strongly consistent."""
    key_units = assumptions.cache_misses if shape.keyed else 0.0
    if plan.versions == "pointer":
        return Units(read=key_units + measure_get(build_version_item(plan, example)))
    stored = build_stored_item(plan, example)
    if plan.split is None:
        return Units(read=key_units + measure_get(stored))
    # The head is read before and after the sections, which shows that nothing has changed.
    total = sum(measure_image(piece) for piece in _build_pieces(plan, example, values))
    return Units(read=key_units + 2 * measure_get(stored) + measure_read(total))


def estimate_section_read(plan: EntityPlan, example: Image, values: Mapping[str, Any]) -> Units:
    """The units of one section of a split item: the mean of its sections."""
    pieces = _build_pieces(plan, example, values)
    mean = sum(measure_get(piece) for piece in pieces) / max(1, len(pieces))
    return Units(read=measure_get(example) + mean)


def estimate_page(
    plan: EntityPlan,
    shape: EntityShape,
    name: str,
    page: PageTraffic,
    examples: Sequence[Image],
    related: Units,
    assumptions: Assumptions,
) -> Units:
    """The units of one page of a list.

    ``related``: the units of the names that a search reaches through other items.

    Raises:
        TrafficError: the entity has no list of that name, or the keyword cannot be searched for.
    """
    images = [build_stored_item(plan, image) for image in examples]
    if name in {COLLECTION, INVERSE}:
        return _estimate_collection(plan, shape, name, page, images, assumptions)
    if name == VERSIONS and plan.versions is not None:
        items = [build_version_item(plan, image) for image in examples]
        # A copy may have no version item yet, so the item itself is read as well.
        own = _mean_get(images) if plan.versions == "copy" else 0.0
        shown = min(page.items, page.limit + 1)
        return Units(read=own + measure_read(_mean_size(items) * shown))
    fetched = 0.0 if page.copied else page.items * _mean_get(images, consistent=False)
    if plan.versions == "pointer" and not page.copied:
        contents = [build_version_item(plan, image) for image in examples]
        fetched += page.items * _mean_get(contents, consistent=True)
    listing = find_by_name(plan.listings, name)
    search = find_by_name(plan.searches, name)
    rows = [entry for image in images for entry in _list_entries(plan, name, image)]
    if listing is not None:
        lists = listing.shards
        return Units(read=fetched + _estimate_lists(lists, page, _mean_size(rows)))
    if search is None:
        raise TrafficError(f"{plan.name} has no list called {name!r}")
    lists, first = _count_lists(search, page)
    index_units = _estimate_lists(lists, page, _mean_size(rows), first)
    names = related * assumptions.cache_misses if page.keyword else Units()
    return Units(read=fetched + index_units) + names


def find_by_name(declarations: Sequence[Declared], name: str) -> Declared | None:
    """The listing or search with this name, if there is one."""
    return next((declared for declared in declarations if declared.name == name), None)


def estimate_figures(
    aggregate: AggregatePlan, figure: FigureTraffic, tally: str, slots: float
) -> Units:
    """The units of all readings of an aggregate. ``slots``: how many slots a tally has."""
    size = measure_image(build_slot(tally, aggregate))
    one = figure.chunks * measure_read(size, consistent=False)
    live = figure.chunks * (2 * measure_read(size) + measure_read(size * (slots + 1)))
    ends = sum(each.has_min + each.has_max for each in aggregate.measured_fields)
    member_values = ends * measure_read(0, consistent=False)
    values = figure.buckets * member_values
    one, live = one + values, live + values
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


def _estimate_collection(
    plan: EntityPlan,
    shape: EntityShape,
    name: str,
    page: PageTraffic,
    images: Sequence[Image],
    assumptions: Assumptions,
) -> Units:
    """Items of a partition with its shards, or of an edge from its other end (GSI1)."""
    if name == INVERSE:
        size = _mean_size([entry for i in images if (entry := select_entry("GSI1", i))])
        return Units(read=measure_read(size * min(page.items, page.limit + 2), consistent=False))
    shards = plan.key.shards
    lists = shards if isinstance(shards, int) else 1
    if isinstance(shards, str):
        numbers = [int(image[shards]["N"]) for image in images if shards in image]
        lists = round(sum(numbers) / len(numbers)) if numbers else 1
    share = page.limit / lists
    block = ceil(share + sqrt(share)) + 1
    rows = block if page.items >= page.limit else min(page.items / lists, block)
    units = lists * measure_read(_mean_size(images) * rows)
    content = 0.0
    if plan.versions == "pointer":
        content = page.items * _mean_get([build_version_item(plan, i) for i in images])
    return Units(read=units + content + (assumptions.cache_misses if shape.keyed else 0.0))


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
        keyword = Keyword.parse(page.keyword, search.kinds)
    except KeywordError as error:
        raise TrafficError(f"keyword {page.keyword!r}: {error}") from error
    steps = get_steps(search)
    lists, choices = 0, 0
    for term in keyword.terms:
        for alternatives in term.compute_probes(steps):
            choices += len(alternatives) > 1
            lists += sum(search.shards if len(p.gram) <= HOT_GRAM else 1 for p in alternatives)
    return max(1, lists), FIRST_BLOCK_ROWS if choices or lists > 1 else None


def _list_entries(plan: EntityPlan, name: str, stored: Image) -> list[Image]:
    # The image is stored already: a pointer derives what its key and its own attributes give.
    return [
        entry
        for declaration, row in list_row_images(plan, stored)
        if declaration == name and (entry := select_entry("GSI2", row)) is not None
    ]


def _build_pieces(plan: EntityPlan, example: Image, values: Mapping[str, Any]) -> list[Image]:
    partition = sections.render_sections_partition(get_key(example), plan.name)
    return [
        piece
        for section in split_sections(plan, values)
        for piece in sections.build_piece_items(partition, "0" * 26, section, "0" * 26)
    ]


def _measure_ranking_entry(tally: str) -> int:
    """The entry of a member in GSI3: keys of its total and of the index, a score, and the total."""
    return 2 * len(tally) + SCORE_BYTES + ENTRY_BYTES


def _mean_size(images: Sequence[Image]) -> float:
    return sum(map(measure_image, images)) / len(images) if images else 0.0


def _mean_get(images: Sequence[Image], *, consistent: bool = True) -> float:
    reads = [measure_get(image, consistent=consistent) for image in images]
    return sum(reads) / len(reads) if reads else 0.0
