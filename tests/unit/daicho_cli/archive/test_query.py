"""``daicho archive query``: what it shows, how, and with which exit code."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from rich.cells import cell_len

from daicho import Domain, Entity, Key, field
from daicho.declare.registry import Daicho
from daicho.items.mapper import replace_fields
from daicho.plan import Ledger
from daicho.web.http.item_json import render_image
from daicho_cli.archive.query import format_item, to_plain
from tests.support.archive_commands import Commanded


def ids(made: Commanded, *arguments: str) -> list[str]:
    result = made.run("query", "--output", "json", *arguments)
    assert result.exit_code == 0, result.output
    return [row["item"]["id"] for row in json.loads(result.stdout)]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "1234"),
        (("--entity", "Download"), "1234"),
        (("--tenant", "u"), "3"),
        (("--tenant", "nobody"), ""),
        (("--since", "2026-11-22"), "4"),
        (("--until", "2026-11-21"), "123"),  # a day is meant whole
        (("--until", "2026-11-22T00:00:00Z"), "123"),
        (("--until", "2026-11-22T09:00:00+09:00"), "123"),
        (("--since", "2026-11-21", "--until", "2026-11-22"), "1234"),
        (("--entity", "Download", "--tenant", "t", "--key", "song=1", "--key", "id=2"), "2"),
        (("--entity", "Download", "--tenant", "t", "--key", "song=1", "--key", "id=3"), ""),
        (("--limit", "2"), "12"),
    ],
)
def test_rows_are_chosen(made: Commanded, arguments: tuple[str, ...], expected: str) -> None:
    assert ids(made, *arguments) == list(expected)


@pytest.mark.parametrize("text", ["x' OR '1'='1", "'; DROP TABLE archive; --", '"$a#b!', "日本 /"])
def test_a_value_is_never_a_part_of_a_request(made: Commanded, text: str) -> None:
    made.kept.append(7, id={"S": text})
    key = ("--entity", "Download", "--tenant", "t", "--key", "song=1", "--key", f"id={text}")
    # Its key is another than its id says, as the image was changed after its key was made.
    assert ids(made, *key) == []
    assert text in ids(made)


def test_a_table_shows_values_as_they_are(made: Commanded) -> None:
    made.kept.append(9, id={"S": "[red]\x1b[2Jhot[/red]"})
    result = made.run("query")
    assert "[red][2Jhot[/red]" in result.stdout
    assert "\x1b[2J" not in result.stdout
    assert result.exit_code == 0
    cut = made.run("query", "--limit", "2")
    assert "2 rows (there are more than --limit 2)" in cut.stderr


NARROW = """\
1 ──────────────────────────────────────────────────────────────────────────────
deleted_at  2026-11-21T00:00:00.000000Z
tenant      u
entity      Download
song        1
id          3
created_at  2026-11-21T01:05:40.123456Z
more        {"at": "2026-11-01T00:00:00.000000Z"}
"""


def lines(made: Commanded, *arguments: str) -> list[str]:
    printed: str = made.run("query", *arguments).stdout
    return [line.rstrip() for line in printed.splitlines()]


def test_each_row_is_a_block_of_lines(made: Commanded) -> None:
    made.columns = 80
    assert lines(made, "--tenant", "u") == NARROW.splitlines()
    made.kept.append(8, tenant="u", song={"S": "[b]長い\x1b[2J" + "い" * 60})
    shown = lines(made, "--tenant", "u")
    assert [line[0] for line in shown if line.endswith("─")] == ["1", "2"]
    assert all(cell_len(line) <= 80 for line in shown)
    assert sum(line.count("い") for line in shown) == 61
    assert "[b]長い[2J" in "".join(shown)


def test_what_the_model_cannot_read_is_shown_all_the_same(made: Commanded) -> None:
    odd = {
        "big": {"N": "1" * 38},
        "far": {"N": "1E+100"},
        "near": {"N": "19.90"},
        "fine": {"N": "0.12345678901234567890"},
        "set": {"SS": ["b", "a"]},
        "numbers": {"NS": ["10", "9", "0.12345678901234567890"]},
        "bytes": {"B": "AAE="},
        "list": {"L": [{"M": {"x": {"NULL": True}}}, {"BOOL": True}]},
        "half": {"S": "\ud83dx"},
        "song": {"N": "7"},
    }
    made.kept.append(5, gen={"N": "9" * 30}, **odd)
    rows = json.loads(made.run("query", "-o", "json").stdout)
    (row,) = [each for each in rows if each["raw"]]
    assert row["item"] == row["item"] | {
        "big": int("1" * 38),
        "far": 1e100,
        "near": 19.9,
        "fine": "0.12345678901234567890",
        "set": ["a", "b"],
        "numbers": [9, 10, "0.12345678901234567890"],
        "bytes": "AAE=",
        "list": [{"x": None}, True],
        "half": "?x",
        "song": 7,
    }
    assert made.run("query").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--entity", "Song"), "'Song' is not archived; these are: Download"),
        (("--entity", "x'y"), "is not archived"),
        (("--tenant", "A b"), "a-z, 0-9 and -"),
        (("--since", "yesterday"), "is no day"),
        (("--since", "2026-13-01"), "is no day"),
        (("--since", "0001-01-01T00:00:00+09:00"), "is no day"),
        (("--until", "0001-01-01T00:00:00Z"), "from 1970 to 9998"),
        (("--until", "9998-12-31"), "from 1970 to 9998"),
        (("--until", "9999-12-31"), "is no day"),
        (("--since", "2026-11-21T10:00:00"), "names no time zone"),
        (("--since", "2026-11-22", "--until", "2026-11-21"), "is not before"),
        (("--key", "id=1"), "needs --tenant and one --entity"),
        (("--entity", "Download", "--tenant", "t", "--key", "id=1"), "lacks song"),
        (("--entity", "Download", "--tenant", "t", "--key", "nmae=1"), "has the key fields"),
        (("--entity", "Download", "--tenant", "t", "--key", "id=1", "--key", "id=2"), "twice"),
        (("--entity", "Download", "--tenant", "t", "--key", "id=", "--key", "song=1"), "empty"),
    ],
)
def test_options_that_mean_nothing_are_refused(
    made: Commanded, arguments: tuple[str, ...], word: str
) -> None:
    result = made.run("query", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert word in result.stderr


class Priced(Entity):
    id: str = field()
    price: Decimal | None = field(default=None, decimal_places=2)
    weight: Decimal | None = field(default=None)
    lines: list[dict[str, Decimal]] | None = None
    pieces: int | None = None

    key = Key(id)


LEDGER = Daicho(Domain("prices", Priced)).append_generations(Ledger())
DECIMALS = ("0", "7", "7.10", "7.1", "100", "0.00", "-3.50", "12345678901234567.89", "1.000")


def archive(**values: Any) -> dict[str, Any]:
    """An archived image, as DynamoDB has stored it: without zeros at the end of places."""
    head = {"created_at": {"S": "2026-11-01T00:00:00.000000Z"}, "version": {"N": "1"}}
    image = replace_fields(Priced, {**head, "gen": {"N": "1"}}, {"id": "a", **values})
    stored: dict[str, Any] = json.loads(json.dumps(image), object_hook=_drop_zeros)
    return stored


def _drop_zeros(value: dict[str, Any]) -> dict[str, Any]:
    if set(value) == {"N"}:
        number = Decimal(value["N"])
        whole = number == number.to_integral_value()
        return {"N": str(int(number) if whole else number.normalize())}
    return value


@pytest.mark.parametrize("text", DECIMALS)
def test_a_decimal_is_shown_as_the_api_shows_it(text: str) -> None:
    value = Decimal(text)
    price = value if value.as_tuple().exponent >= -2 else None  # type: ignore[operator]
    image = archive(price=price, weight=value, lines=[{"a": value, "b": Decimal("2.50")}], pieces=7)
    shown = json.loads(render_image(Priced, image, LEDGER))
    formatted = format_item(image, Priced)
    assert "_scales" not in formatted
    for name in ("weight", "lines", "pieces"):
        assert formatted[name] == shown[name]
    assert formatted.get("price") == shown["price"]
    assert formatted["weight"] == text


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ({"N": "19.90"}, 19.9),
        ({"N": "1E+100"}, 1e100),
        ({"N": "0.12345678901234567890"}, "0.12345678901234567890"),
        ({"N": "9" * 38}, int("9" * 38)),
        ({"NS": ["10", "9"]}, [9, 10]),
        ({"N": "NaN"}, "NaN"),
        ({"N": "-Infinity"}, "-Infinity"),
        ({"N": "1E+999999"}, "1E+999999"),
        ({"B": "AAE="}, "AAE="),
        ("text", "text"),
    ],
)
def test_a_number_is_a_number_unless_a_reader_would_change_it(stored: Any, shown: Any) -> None:
    assert to_plain(stored) == shown
