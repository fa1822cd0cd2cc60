"""Ids of records that were set aside: the stream shard, and the record's number as it is stored."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode

ClaimId = tuple[str, str]
"""A shard and a number as `StreamRecord.seq` has it: of a claim, or of a record in a discarded
batch that has no claim yet."""


def parse_claim(text: str) -> ClaimId:
    """Read ``SHARD/NUMBER``, as commands write it.

    Raises:
        ValueError: it is something else.
    """
    shard, _, seq = text.partition("/")
    if not shard or not seq:
        raise ValueError(f"{text!r} is no SHARD/NUMBER of a record")
    return shard, seq


def render_claim(claim: ClaimId) -> str:
    """A claim as ``SHARD/NUMBER``."""
    return "/".join(claim)


def render_claim_id(claim: ClaimId) -> str:
    """A claim as one segment of a URL: base64url without padding."""
    return urlsafe_b64encode(render_claim(claim).encode()).decode().rstrip("=")


def parse_claim_id(text: str) -> ClaimId:
    """Read a segment of a URL.

    Raises:
        ValueError: it is no id of a claim.
    """
    try:
        decoded = urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except ValueError as error:  # no base64, or no UTF-8
        raise ValueError(f"{text!r} is no id of a claim") from error
    claim = parse_claim(decoded)
    if render_claim_id(claim) != text:  # the decoder skips what is not of its alphabet
        raise ValueError(f"{text!r} is no id of a claim")
    return claim
