"""What `daicho rebuild --copy` checks in the lock file."""

from __future__ import annotations

import pytest

from daicho_cli.options import OptionError
from daicho_cli.rebuild.command import check_copy, describe_switch
from tests.support.copied_members import COPIED, SWITCHED, number
from tests.support.sample_members import PLAIN


def test_a_declared_copy_is_accepted() -> None:
    check_copy(number(PLAIN, COPIED), "Member", "Person")
    assert 'CopiedTo("Person", switched=True)' in describe_switch("Member", "Person")


@pytest.mark.parametrize(
    ("names", "plans", "message"),
    [
        (("Member", ""), (COPIED,), "--copy and --to name an entity each"),
        (("Member", "Persn"), (COPIED,), "no entity is called Persn. The entities: Member, Person"),
        (("Member", "Person"), (PLAIN,), r'copied_to = CopiedTo\("Person"\)'),
        (("Member", "Person"), (COPIED, SWITCHED), "Member was switched to Person already"),
    ],
)
def test_what_is_missing_is_named(
    names: tuple[str, str], plans: tuple[object, ...], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        check_copy(number(*plans), *names)  # type: ignore[arg-type]
