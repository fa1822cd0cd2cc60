"""``daicho rebuild --copy``: what has to be declared before and after the items are copied."""

from __future__ import annotations

from daicho.plan import Ledger
from daicho_cli.options import OptionError


def check_copy(ledger: Ledger, source: str, target: str) -> None:
    """Check that the lock file copies the items of an entity into another one.

    Raises:
        OptionError: it does not; the message names what to declare.
    """
    if not source or not target:
        raise OptionError("--copy and --to name an entity each")
    for name in (source, target):
        if name not in ledger.entities:
            raise OptionError(
                f"no entity is called {name}. The entities: {', '.join(ledger.list_types())}"
            )
    copy = ledger.copies.get(source)
    if copy is None or copy.target != target:
        raise OptionError(
            f"{source} is not copied to {target}. Declare in {source}: copied_to = "
            f'CopiedTo("{target}"). Then run make generation, and deploy'
        )
    if copy.is_switched:
        raise OptionError(f"{source} was switched to {target} already")


def describe_switch(source: str, target: str) -> str:
    """What to do after all items of an entity have copies."""
    return (
        f"Each item of {source} has a copy in {target}. To switch, declare in {source}: copied_to "
        f'= CopiedTo("{target}", switched=True). Then run make generation, and deploy'
    )
