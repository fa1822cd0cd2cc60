"""The price file of the package, and price files in general."""

from __future__ import annotations

from pathlib import Path

import pytest

from daicho_cli.cost.prices import PRICE_FILE, PriceError, load_prices


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("alarm = 0.10\n", "", "us-east-1: alarm: Field required"),
        ("alarm =", "alarms = 1.0\nalarm =", "us-east-1: alarms is unknown"),
        ("alarm = 0.10", 'alarm = "0.10"', "alarm: Input should be a valid number"),
        ("alarm = 0.10", "alarm = -1", "alarm: Input should be greater than or equal to 0"),
        ("= 2026-08-15", '= "2026-08-15"', "published: Input should be a valid date"),
        ("= 2026-08-15", "= 2026-08-15T00:00:00Z", "published: Input should be a valid date"),
        ('source = "', 'source = 5 # "', "source: Input should be a valid string"),
    ],
)
def test_a_wrong_price_file_is_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(PRICE_FILE.read_text("utf-8").replace(old, new), "utf-8")
    with pytest.raises(PriceError) as raised:
        load_prices(file=file)
    assert message in str(raised.value)
