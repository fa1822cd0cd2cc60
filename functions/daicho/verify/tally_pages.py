"""What the pages of a scan show of tallies: contributions of base items, and that tallies exist."""

from __future__ import annotations

from dataclasses import dataclass, field

from daicho.storage import attributes, keys
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.requests import ItemPage
from daicho.stream.changes import PlannedImage
from daicho.stream.claims import ShardClaims
from daicho.stream.journal import render_item, to_plain_amount
from daicho.stream.records import get_entity
from daicho.stream.shard_items import read_shard
from daicho.tally import slots
from daicho.tally.slots import TallyName
from daicho.verify.journal_run import is_runaway
from daicho.verify.steps import VerifyDependencies
from daicho.verify.tally_lines import Line

TALLY_MARK = "+"
"""How the second component of a tally's partition key begins."""


@dataclass
class TallyPage:
    """What a page shows.

    ``lines``: see `daicho.verify.tally_lines`. ``runaway``: slots whose number is above all of
    their shard. ``unreadable``: how the tallies begin in which an item of the page may count that
    cannot be computed. ``archived``: by entity, the first day of which the table has the state of
    an archive chain.
    """

    lines: list[Line] = field(default_factory=list)
    runaway: list[ItemKey] = field(default_factory=list)
    unreadable: set[str] = field(default_factory=set)
    archived: dict[str, str] = field(default_factory=dict)


class TallyPages:
    """Reads pages, in several threads. ``entity``: the only one, or "" for all.

    ``reads_items``: whether sums are judged.
    """

    def __init__(self, on: VerifyDependencies, entity: str, *, reads_items: bool) -> None:
        self._on, self._entity, self._reads_items = on, entity, reads_items
        self._shards: dict[str, ShardClaims] = {}

    def read(self, page: ItemPage) -> TallyPage:
        """Read a page.

        Raises:
            UnavailableError: the table does not answer.
        """
        result = TallyPage()
        tallies: set[str] = set()
        for image in page.items:
            tenant, _, rest = image["PK"]["S"].partition(keys.DELIMITER)
            if rest.startswith(TALLY_MARK):
                if self._is_chosen(rest[1:].partition(".")[0]) and _is_tally(image["PK"]["S"]):
                    tallies.add(image["PK"]["S"])
                    self._check_number(image, result)
            elif image["PK"]["S"].startswith(_CHAINS):
                _note_day(image, result.archived)
            elif (entity := get_entity(image)) and self._reads_items and self._is_chosen(entity):
                self._read_item(image, tenant, entity, result)
        result.lines += (["tally", tally] for tally in sorted(tallies))
        return result

    def _is_chosen(self, entity: str) -> bool:
        return self._entity in ("", entity)

    def _read_item(self, image: Image, tenant: str, entity: str, result: TallyPage) -> None:
        try:
            amounts = PlannedImage.parse(image, self._on.ledger).amounts
        except Exception:  # whatever it is: what the item counts in is not judged
            result.unreadable.add(render_tally_prefix(tenant, entity))
            return
        item = render_item(get_key(image))
        for tally, amount in amounts.items():
            result.lines.append(["item", tally, item, "live", to_plain_amount(amount)])

    def _check_number(self, image: Image, result: TallyPage) -> None:
        sort_key = image["SK"]["S"]
        seq = attributes.get_text(image, "seq")
        if seq is None or not slots.is_slot(sort_key):
            return
        _, shard = keys.parse(sort_key)
        known = self._shards.get(shard)
        if known is None or seq > known.announced:
            # Read after the slot: what it has counted was announced before.
            known = self._shards[shard] = read_shard(self._on.store, shard)
        if is_runaway(image, known):
            result.runaway.append(get_key(image))


def _note_day(image: Image, archived: dict[str, str]) -> None:
    entity, day = keys.parse(image["PK"]["S"])[-1], keys.parse_first(image["SK"]["S"])
    archived[entity] = min(day, archived.get(entity, day))


def render_tally_prefix(tenant: str, entity: str) -> str:
    """How the names of all tallies of an entity begin, for one tenant."""
    return keys.render_prefix(tenant, f"{TALLY_MARK}{entity}")[:-1] + "."


def _is_tally(partition: str) -> bool:
    """Whether the library has made a partition key: anything may be written by hand."""
    try:
        TallyName.parse(partition)
    except ValueError:
        return False
    return True


_CHAINS = keys.render_prefix("", "archive")
"""How the partition keys of the states of archive chains begin."""
