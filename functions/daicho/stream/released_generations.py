"""Which unknown generations and entities were released, by the backfill items (rules 3 and 56).

An image whose generation or entity this code does not know is newer only if newer code was
released. A release records a generation before any code writes it. So a read that begins after a
record has arrived shows the generation of its images. No answer is kept for the next batch: a
release may have come since.
"""

from __future__ import annotations

from collections.abc import Iterable

from daicho.layout.backfill_state import RECORDED_KEY, BackfillState, build_backfill_key
from daicho.plan import Ledger
from daicho.storage.attributes import Image
from daicho.storage.protocols import GetsItems
from daicho.stream.changes import is_newer_image
from daicho.stream.records import get_entity


def learn_released(store: GetsItems, ledger: Ledger, images: Iterable[Image | None]) -> Ledger:
    """The ledger with what was released of the entities of some images that it does not know.

    It is the same ledger if there is nothing to learn. So it is in a stage without a record of its
    releases: there every unknown image is newer.

    Raises:
        StoreError: the table does not answer.
    """
    entities = {get_entity(image) or "" for image in images if is_newer_image(image, ledger)}
    entities -= ledger.released.keys()
    if not entities or store.get(RECORDED_KEY, consistent=True) is None:
        return ledger
    released: dict[str, int] = {}
    for entity in sorted(entities):
        item = store.get(build_backfill_key(entity), consistent=True)
        released[entity] = 0 if item is None else BackfillState.parse(entity, item).newest
    return ledger.with_released(released)
