"""``python -m tests.models [RULE…]``: explores the models, and leaves out each of their conditions.

Prints how many states each rule has, and what happens first if a condition is left out. Ends with 1
if a rule has a counterexample, or a condition that is left out gives none.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.padding import Padding

from tests.models import engine, rule_27, rule_56
from tests.models.engine import Model, Result
from tests.models.models import MODELS


def describe(result: Result) -> str:
    """The actions of a counterexample in one line; equal ones in a row are counted."""
    runs = [(action, len(list(run))) for action, run in groupby(result.counterexample or ())]
    return "; ".join(f"{count} times {each}" if count > 1 else each for each, count in runs)


def print_model(model: Model, console: Console) -> bool:
    """Explore a model and print it; returns whether it is as it has to be."""
    began = time.monotonic()
    whole = model.explore()
    console.print(f"\nRule {model.rule}: {whole.states:,} states", style="bold", end=" ")
    console.print(f"({time.monotonic() - began:.1f} s)", highlight=False)
    if whole.counterexample is not None:
        console.print(f"  A COUNTEREXAMPLE WITH ALL CONDITIONS: {describe(whole)}", style="red")
    is_sound = whole.counterexample is None
    texts = {**model.conditions, **model.assumptions}
    for name in model.names:
        result = model.explore(name)
        kind = "assumption" if name in model.assumptions else "condition"
        console.print(f'  without the {kind} "{name}" ({texts[name]})', highlight=False)
        is_sound &= result.counterexample is not None
        found = describe(result) or "NO COUNTEREXAMPLE: it is not needed, or the model is wrong"
        console.print(Padding(found, (0, 0, 0, 6)), highlight=False)
    return is_sound


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the models; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.models", description=__doc__)
    parser.add_argument("rules", nargs="*", type=int, metavar="RULE", help="by default all")
    rules = parser.parse_args(arguments).rules
    console, began = Console(width=120), time.monotonic()
    chosen = [model for model in MODELS if not rules or model.rule in rules]
    sound = [print_model(model, console) for model in chosen]
    count = sum(len(model.names) for model in chosen)
    seconds = time.monotonic() - began
    console.print(f"\n{len(chosen)} rules, {count} conditions and assumptions, {seconds:.0f} s")
    return 0 if chosen and all(sound) else 1


if __name__ == "__main__":
    rule_27.MAX_LATE, rule_56.WRITES, engine.MAX_STATES = 2, 3, 1_000_000
    raise SystemExit(main())
