"""The price file of the package, and price files in general."""

from __future__ import annotations

import datetime as dt
import tomllib
from pathlib import Path
from typing import Any

import pytest

from daicho_cli.cost.prices import PRICE_FILE, PriceError, list_regions, load_prices, parse_prices


def test_each_region_of_the_file_is_complete_and_dated() -> None:
    regions = list_regions()
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
    assert (prices.alarm, prices.metric, prices.dashboard) == (0.10, 0.30, 3.00)
    assert prices.lambda_gb_second == 0.0000133334
    assert prices.price_units(read=2_000_000, write=1_000_000) == pytest.approx(0.875)


def read_file() -> dict[str, Any]:
    return tomllib.loads(PRICE_FILE.read_text("utf-8"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alarm": None}, "us-east-1 has no alarm"),
        ({"alarms": 1.0}, "us-east-1 has an unknown alarms"),
        ({"alarm": "0.10"}, "alarm cannot be '0.10'"),
        ({"alarm": -1}, "alarm cannot be -1"),
        ({"published": "2026-08-15"}, "published cannot be '2026-08-15'"),
        ({"source": 5}, "source cannot be 5"),
    ],
)
def test_a_wrong_price_file_is_refused(change: dict[str, Any], message: str) -> None:
    data = read_file()
    region = data["regions"]["us-east-1"]
    region.update(change)
    data["regions"]["us-east-1"] = {n: v for n, v in region.items() if v is not None}
    with pytest.raises(PriceError) as raised:
        parse_prices(data, "us-east-1")
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
