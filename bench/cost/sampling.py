"""How many examples an estimate needs: contacts of a call centre, and random samples of them."""

from __future__ import annotations

import random
from statistics import fmean, pstdev

from rich.console import Console
from rich.table import Table as Printed

from bench.search.contact_generator import Crowd
from daicho.plan import Ledger
from daicho_cli.cost.derived_writes import estimate_row_writes
from daicho_cli.cost.examples import ItemEvent, build_image
from daicho_cli.cost.units import measure_write, sum_units

CONTACTS = 3_000
SAMPLES = 2_000
SIZES = (1, 3, 5, 10, 20, 40)


def print_sampling(console: Console, ledger: Ledger) -> None:
    """Print how far the mean of a sample is from that of all contacts."""
    units = list_write_units(ledger)
    mean, draw = fmean(units), random.Random(1)  # noqa: S311
    printed = Printed("examples", "half of the samples differ by less than", "95 %")
    printed.title = (
        f"Write units of a contact with its index rows: mean {mean:.1f}, "
        f"standard deviation {pstdev(units):.1f}"
    )
    for size in SIZES:
        errors = sorted(abs(fmean(draw.sample(units, size)) - mean) / mean for _ in range(SAMPLES))
        bounds = (errors[round(share * SAMPLES) - 1] for share in (0.5, 0.95))
        printed.add_row(str(size), *(f"{bound:.1%}" for bound in bounds))
    console.print(printed)


def list_write_units(ledger: Ledger) -> list[float]:
    """The write units of the creation of each contact, its index rows included."""
    generation = ledger.current_generation("Contact")
    units = []
    for contact in Crowd(CONTACTS, "cost"):
        categories = [category.id for category in contact.categories]
        values = {
            "name": contact.name,
            "company": contact.company,
            "phone": contact.phone,
            "email": contact.email,
            "categories": categories,
        }
        image = build_image(generation, values)
        rows = estimate_row_writes(generation.plan, ItemEvent("create", 1, None, image, values))
        units.append(measure_write(None, image) + sum_units(rows.values()).write)
    return units
