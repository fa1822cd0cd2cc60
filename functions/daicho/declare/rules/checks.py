"""``Check``: a rule over several fields of an item."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daicho.declare.base import Declaration
from daicho.declare.fields import created_at
from daicho.declare.rules.functions import check_function, check_inputs
from daicho.errors import DeclarationError


class Check(Declaration):
    """A rule over fields of an item, which every write of the item must keep.

    ``due_after_issue = Check(is_due_after_issue, issued, due)``. The function gets the values of
    the fields in their order, as a read of the item would show them. It returns None if the rule
    holds, or else a message, which is the answer 422 with the names of the fields. The whole item
    is checked, also if a PATCH changes one field. Items from before the rule stay readable.

    Args:
        function: a named function of a module. It must be pure: its result depends on its
            arguments alone.
        inputs: fields of the same entity.

    Raises:
        DeclarationError: the function is a lambda, or takes other arguments.
    """

    def __init__(self, function: Callable[..., str | None], *inputs: Any) -> None:
        self.inputs = check_function("Check", function, inputs)
        self.function = function

    def check_declaration(self) -> None:
        """Check what can be checked when the whole entity is known.

        Raises:
            DeclarationError: the function reads what an item does not have when it is written.
        """
        if created_at in self.inputs:
            raise DeclarationError(
                f"{self} reads created_at, which is set after the check: declare a field of the "
                "entity for the moment, moment: dt.datetime = field(factory=now, frozen=True)"
            )
        check_inputs(self, self.entity, self.inputs)
