"""The price file of the package, and price files in general."""

from __future__ import annotations

import datetime as dt
import tomllib
from pathlib import Path
from typing import Any

import pytest

from daicho_cli.cost.prices import PRICE_FILE, PriceError, load_prices


def test_each_region_of_the_file_is_complete_and_dated() -> None:
    regions = read_file()["regions"]
    assert {"us-east-1", "eu-west-1", "eu-central-1", "ap-northeast-1"} <= set(regions)
    for region in regions:
        prices = load_prices(region)
        assert prices.region == region
        assert dt.date(2026, 1, 1) <= prices.published <= dt.datetime.now(dt.UTC).date()
        assert prices.source.startswith("https://")
        assert f"/{region}/" in prices.source
        assert prices.write_million > prices.read_million > 0
        assert prices.write_million / prices.read_million == pytest.approx(5, rel=0.01)


def test_prices_of_us_east_1_are_those_of_the_benchmarks() -> None:
    prices = load_prices()
    assert (prices.write_million, prices.read_million) == (0.625, 0.125)
    assert (prices.alarm, prices.metric) == (0.10, 0.30)
    assert prices.lambda_gb_second == 0.0000133334
    assert prices.price_units(read=2_000_000, write=1_000_000) == pytest.approx(0.875)


def read_file() -> dict[str, Any]:
    return tomllib.loads(PRICE_FILE.read_text("utf-8"))


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


def test_a_region_without_prices_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PriceError, match="no prices of mars-1; there are those of us-east-1"):
        load_prices("mars-1")
    file = tmp_path / "own.toml"
    with pytest.raises(PriceError, match=r"own\.toml"):
        load_prices(file=file)
    file.write_text("regions = [", "utf-8")
    with pytest.raises(PriceError, match=r"own\.toml"):
        load_prices(file=file)
