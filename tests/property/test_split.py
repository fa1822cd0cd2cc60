"""A document cut into items and joined again is the same document, whatever JSON it is."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from daicho.layout import sections
from daicho.layout.sections import Manifest, Section
from daicho.storage import attributes, keys
from daicho.storage.attributes import ItemKey

TEXT = st.text(
    st.sampled_from('#$/ab\x00 "\\!%台\U0001f600') | st.characters(exclude_categories=["Cs"])
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | st.integers() | FLOATS | TEXT
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
NAMES = TEXT.filter(lambda name: 1 <= len(name.encode()) <= sections.MAX_SECTION_NAME_BYTES)
DOCUMENTS = st.dictionaries(NAMES, VALUES, max_size=8)
PARTITION = "acme#/Document#d#-"


@given(DOCUMENTS, st.integers(1, 60), st.randoms(use_true_random=False))
@example({"#": "#" * 50, "##": None, "a": {"": [1e300, -0.0, 10**30]}}, 7, random.Random(1))
def test_cut_and_joined_in_any_order_it_is_the_same(
    document: dict[str, Any], piece_bytes: int, chance: random.Random
) -> None:
    whole = sections.PIECE_BYTES
    sections.PIECE_BYTES = max(4, piece_bytes)  # every character fits a piece
    try:
        items = [
            item
            for number, each in enumerate(sections.split_into_sections(document, "sections"))
            for item in sections.build_piece_items(PARTITION, "e", each, f"p{number}")
        ]
    finally:
        sections.PIECE_BYTES = whole
    assert len({item["SK"]["S"] for item in items}) == len(items)
    assert not any("type" in item for item in items)  # no event filter passes them
    chance.shuffle(items)
    rejoined = sections.join_pieces(items)
    assert list(rejoined) == list(document)
    back = {name: json.loads(each.text) for name, each in rejoined.items()}
    assert json.dumps(back) == json.dumps(document)  # by text: 1 is not 1.0, and -0.0 not 0.0


@given(DOCUMENTS)
def test_a_weight_is_what_an_answer_takes(document: dict[str, Any]) -> None:
    weight = sum(each.weight for each in sections.split_into_sections(document, "sections"))
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    written = len(json.dumps(text, ensure_ascii=False).encode()) - len('"{}"')
    assert weight - 1 <= written <= weight or not document  # the last has no comma behind it


@given(NAMES, NAMES)
def test_sections_are_read_by_a_prefix_and_nothing_else_is(one: str, other: str) -> None:
    key = sections.render_section_key(PARTITION, "e", one)
    items = sections.build_piece_items(PARTITION, "e", Section(other, '"x"', 0), "p")
    assert all((item["SK"]["S"].startswith(key.sk)) == (one == other) for item in items)


@given(NAMES)
def test_a_piece_of_the_longest_name_is_a_key(name: str) -> None:
    section = Section(name, "x" * (sections.PIECE_BYTES + 1), 0, changed=10**18)
    items = sections.build_piece_items(PARTITION, "0" * 26, section, "0" * 26)
    assert len(items) == 3
    for item in items:
        keys.check_sort(item["SK"]["S"])
        assert attributes.measure_image(item) <= attributes.MAX_ITEM_BYTES


@given(st.lists(st.tuples(NAMES, st.integers(1, 3)), max_size=80), st.integers(0, 250))
def test_a_manifest_remembers_all_that_changed_or_says_that_it_does_not(
    changes: list[tuple[str, int]], asked: int
) -> None:
    version, manifest = 5, sections.start_manifest("e", 5, [])
    history: list[tuple[int, str]] = []
    for name, step in changes:  # a change of other fields raises the version too
        version += step
        manifest = manifest.with_change(version, name, 0, 0)
        history.append((version, name))
    read = Manifest.from_image({sections.MANIFEST: manifest.to_value()})
    assert read == manifest
    known = manifest.list_changed_since(asked)
    if known is None:
        assert asked < manifest.complete
    else:
        assert known == {name for at, name in history if at > asked} or asked < 5
    assert manifest.list_changed_since(version) == frozenset()
    assert attributes.measure_image({sections.MANIFEST: manifest.to_value()}) < 1024


@given(TEXT, TEXT, TEXT)
def test_the_sections_of_two_heads_never_meet(tenant: str, one: str, other: str) -> None:
    heads = [ItemKey(keys.render(tenant, "Document", each), "-") for each in (one, other)]
    partitions = [sections.render_sections_partition(head, "Document") for head in heads]
    assert (partitions[0] == partitions[1]) == (one == other)
    assert keys.parse(partitions[0])[0] == tenant
