"""Preconditions: an ETag is an item's version (RFC 9110, section 13).

That of a stored item without a version, which something else has written, is its digest.

If a lost table is taken over by an earlier copy of it, a version may exist twice, with different
contents. So the ETags of such a table begin with its lineage, and those from before match nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from annotated_types import MaxLen, MinLen
from pydantic import WithJsonSchema

from daicho.declare.entity import HasVersion, find_tag
from daicho.errors import PreconditionFailed, UnreadableError
from daicho.web.http.operation import Parameter
from daicho.web.http.problems import HttpError
from daicho.write.idempotency import HEADER

IF_MATCH = Parameter("If-Match", str, "The ETag that the item must have; otherwise 412.", "header")
IF_NONE_MATCH = Parameter(
    "If-None-Match", str, "The ETag of your copy; 304 if the item has not changed.", "header"
)
CREATE_ONLY = Parameter(
    "If-None-Match",
    Annotated[str, WithJsonSchema({"type": "string", "pattern": r"^\*$", "examples": ["*"]})],
    "`*` creates only: 412 if the item exists.",
    "header",
)
RESTORED_SINCE = "the ETag is from before the table was restored: read the item again"
PRECONDITION_HEADERS = (IF_MATCH.name, IF_NONE_MATCH.name)
IDEMPOTENCY_KEY = Parameter(
    HEADER,
    Annotated[str, MinLen(1), MaxLen(255)],
    "A key for this request alone, such as a new UUID: a repeat within 24 hours gets the same "
    "answer.",
    "header",
)
_TAG = re.compile(r'(W/)?"([\x21\x23-\x7e]*)"')
_VERSION = re.compile(r"0|[1-9][0-9]{0,17}")
"""An ETag as the API writes it. "02" is the tag of nothing."""
_DIGEST = re.compile(r"[0-9a-f]{64}")
_EARLIER = "~earlier"
"""What takes the place of an ETag that is not of the table's lineage. No item has this tag."""
_LIST = re.compile(rf"\s*{_TAG.pattern}\s*(?:,\s*{_TAG.pattern}\s*)*")


def add_lineage(etag: str, lineage: str) -> str:
    """The ETag of an answer, of a table with a lineage."""
    return etag.replace('"', f'"{lineage}-', 1)


def remove_lineage(header: str, lineage: str) -> str:
    """A precondition as that of a table without a lineage: other ETags match nothing."""

    def rename(match: re.Match[str]) -> str:
        is_own = match[2].startswith(f"{lineage}-")
        tag = match[2].removeprefix(f"{lineage}-") if is_own else _EARLIER
        return f'{match[1] or ""}"{tag}"'

    return _TAG.sub(rename, header)


def parse_tags(if_match: str) -> list[int | str] | None:
    """The versions and digests that an If-Match admits; None for ``*``: any.

    Raises:
        HttpError: 400, it is neither ``*`` nor a list of ETags.
        PreconditionFailed: they are from before the table was taken over.
    """
    if if_match.strip() == "*":
        return None
    # If-Match compares strongly: a weak tag, or a tag of another form, never matches.
    given = _parse_tags(if_match, "If-Match")
    tags = [
        int(tag) if _VERSION.fullmatch(tag) else tag
        for weak, tag in given
        if not weak and (_VERSION.fullmatch(tag) or _DIGEST.fullmatch(tag))
    ]
    if not tags and any(tag == _EARLIER for _, tag in given):
        raise PreconditionFailed(RESTORED_SINCE, field=IF_MATCH.name)
    return tags


def parse_version(if_match: str | None) -> int | None:
    """The one version that an If-Match admits; None without one, and for ``*``.

    Raises:
        HttpError: 400, it is neither ``*`` nor one ETag.
        PreconditionFailed: no version has this ETag.
    """
    tags = None if if_match is None else parse_tags(if_match)
    if tags is None:
        return None
    if len(tags) > 1:
        raise HttpError(400, "If-Match takes one ETag here", [(IF_MATCH.name, "takes one ETag")])
    if not tags or isinstance(tags[0], str):
        raise PreconditionFailed("the item is of another version", field=IF_MATCH.name)
    return tags[0]


def matches_any(if_none_match: str, tag: str) -> bool:
    """Whether one of the listed ETags is ``tag``, by weak comparison.

    Raises:
        HttpError: 400, it is neither ``*`` nor a list of ETags.
    """
    if if_none_match.strip() == "*":
        return True
    return any(f'"{etag}"' == tag for _, etag in _parse_tags(if_none_match, "If-None-Match"))


def is_create_only(if_none_match: str | None) -> bool:
    """Whether a PUT may only create: ``*`` is the only value that If-None-Match may have.

    Raises:
        HttpError: 400, anything else.
    """
    if if_none_match is None:
        return False
    if if_none_match.strip() != "*":
        raise HttpError(400, "PUT takes If-None-Match: * only", [("If-None-Match", "must be *")])
    return True


def _parse_tags(header: str, name: str) -> list[tuple[str, str]]:
    if not _LIST.fullmatch(header):
        message = 'must be an ETag in double quotes, as in "3", or *'
        raise HttpError(400, f"{name} {message}", [(name, message)])
    return [(match[1] or "", match[2]) for match in _TAG.finditer(header)]


def resolve_tag(
    values: Mapping[str, Any], find: Callable[[], HasVersion | None], what: str = "item"
) -> int | str | None:
    """What If-Match names, or None. For ``*`` or several ETags, what the item's ETag names.

    Raises:
        PreconditionFailed: the item has none of the ETags in If-Match, or does not exist.
    """
    if_match = values.get(IF_MATCH.name)
    if if_match is None:
        return None
    tags = parse_tags(if_match)
    if tags is not None and len(tags) == 1:
        return tags[0]
    try:
        item = find()
        tag = None if item is None else find_tag(item)
    except UnreadableError as error:  # it may be replaced, or removed
        tag = error.tag
    if tag is None or (tags is not None and tag not in tags):
        raise PreconditionFailed(f"the {what} is of another version", field=IF_MATCH.name)
    return tag


def resolve_version(
    values: Mapping[str, Any], find: Callable[[], HasVersion | None], what: str
) -> int | None:
    """As `resolve_tag`, of something that always has a version.

    Raises:
        PreconditionFailed: it has none of the versions in If-Match, or does not exist.
    """
    tag = resolve_tag(values, find, what)
    if isinstance(tag, str):
        raise PreconditionFailed(f"the {what} is of another version", field=IF_MATCH.name)
    return tag
