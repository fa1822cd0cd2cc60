"""An item's whole way: written, expired, archived, verified, restored, and forgotten at last.

Through the real handlers, over Dynoxide and a versioned bucket.
"""

from __future__ import annotations

import datetime as dt

from daicho.archive.forgetter import Forgetter
from daicho.archive.reader import Selection
from tests.support.archive_deployment import Deployed, Entry, write


def test_the_whole_way(deployed: Deployed) -> None:
    write(deployed)
    deployed.now += dt.timedelta(days=8)
    deployed.expire()
    report = deployed.verify()
    assert report.is_sound
    assert (report.counts.rows, report.counts.deletions) == (9, 9)  # not the owner's own deletion
    dry = deployed.restore(dry_run=True, tenant="one")
    assert (dry.restored, dry.items) == (5, 5)
    assert deployed.texts() == []

    report_of = deployed.restore(tenant="one")
    assert (report_of.restored, report_of.complete) == (5, True)
    deployed.settle()
    assert deployed.texts() == [f"note {number}" for number in (4, 3, 2, 1, 0)]
    assert deployed.texts("two") == []
    assert [each.id for each in deployed.book().page(Entry.search("note 4")).items] == ["4"]
    # What went on counting is not counted twice.
    for live in (True, False):
        assert (deployed.counts("a", live=live), deployed.counts("b", live=live)) == (
            (3, 3),
            (2, 2),
        )

    deployed.now += dt.timedelta(minutes=1)
    again = deployed.restore(tenant="one")
    assert (again.restored, again.already) == (0, 5)
    deployed.book().delete(Entry.key("0"))
    deployed.settle()
    assert deployed.counts("a") == (2, 2)

    # They expire once more, and are archived once more.
    deployed.now += dt.timedelta(days=8)
    deployed.expire()
    assert deployed.counts("a") == (0, 2)
    report = deployed.verify()
    assert report.is_sound
    assert report.counts.rows == 9 + 4

    later = dt.datetime.now(dt.UTC) + dt.timedelta(days=4)
    forgotten = Forgetter(deployed.table, deployed.bucket, now=lambda: later).forget("one")
    assert forgotten.complete
    assert (forgotten.rows, forgotten.broken) == (9, {})
    assert {row.tenant for row in deployed.archive.read_rows(Selection(), lambda *_: None)} == {
        "two"
    }
    assert deployed.verify().is_sound
    assert [each for each in deployed.bucket.list_versions("") if not each.newest] == []
    assert deployed.restore(tenant="one").rows == 0
