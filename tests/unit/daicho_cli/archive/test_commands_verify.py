"""``daicho archive verify``: what harms an archive is found, named, and exits with 1.

Each way to harm one is tested with the verifier: tests/unit/archive/test_verifier.py.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator

import pytest

from tests.support.archive_commands import Commanded, commanded
from tests.support.memory_archive import Kept, render_link_name

PERIOD = ("--since", "2026-11-21", "--until", "2026-11-22")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[Commanded]:
    with commanded(monkeypatch) as made:
        made.kept.append(1, 2)
        made.kept.append(3, 4)
        made.kept.append(5, tenant="u")
        yield made


def removed(kept: Kept) -> None:
    kept.bucket.remove(render_link_name(2))


def edited(kept: Kept) -> None:
    body, _ = kept.bucket.objects[render_link_name(2)]
    lines = gzip.decompress(body).replace(b'"song":{"S":"1"}', b'"song":{"S":"2"}')
    kept.bucket.overwrite(render_link_name(2), gzip.compress(lines))


@pytest.mark.parametrize(("harm", "kind"), [(removed, "gap"), (edited, "corrupt")])
def test_each_harm_is_found(made: Commanded, harm: Callable[[Kept], None], kind: str) -> None:
    harm(made.kept)
    result = made.run("verify", *PERIOD)
    assert result.exit_code == 1
    assert "Findings" in result.stdout
    assert kind in result.stdout
    assert result.stdout.splitlines()[-1].split()[-1] in {"finding", "findings"}
    told = json.loads(made.run("verify", "--json", *PERIOD).stdout)
    assert kind in told["kinds"]
    assert (told["since"], told["until"], told["sound"]) == ("2026-11-21", "2026-11-22", False)
    assert all(each["name"].startswith("entity=Download/") for each in told["findings"])
    # Another period is sound, and so it says.
    assert made.run("verify", "--since", "2026-11-22", "--until", "2026-11-23").exit_code == 0


def test_an_entity_that_is_declared_no_more_is_verified_too(made: Commanded) -> None:
    body, metadata = made.kept.bucket.objects[render_link_name(2)]
    assert made.kept.bucket.create(
        render_link_name(0).replace("entity=Download", "entity=Gone"), body, metadata
    )
    result = made.run("verify", *PERIOD)
    assert result.exit_code == 1
    assert "entity=Gone" in result.stdout
    assert made.run("verify", "--entity", "Download", *PERIOD).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--since", "yesterday"), "is no day"),
        (("--since", "2026-11-22", "--until", "2026-11-21"), "is after --until"),
        (("--since", "1970-01-01"), "verify them in parts"),
        (("--since", "1900-01-01"), "from 1970 to 9998"),
        (("--since", "9999-12-31"), "from 1970 to 9998"),
        (("--until", "0001-01-01"), "from 1970 to 9998"),
        (("--entity", "Song"), "is not archived"),
    ],
)
def test_options_that_mean_nothing_are_refused(
    made: Commanded, arguments: tuple[str, ...], word: str
) -> None:
    result = made.run("verify", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert word in result.stderr
