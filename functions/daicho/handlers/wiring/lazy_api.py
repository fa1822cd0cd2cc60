"""The API's routes: imported and built for the first request.

They take a fifth of the processor time of the API's start (ADR 0158).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from daicho.handlers.wiring.invocation import Context
from daicho.runtime.start_up import pause_garbage_collection

if TYPE_CHECKING:
    from daicho.book.book import Book
    from daicho.declare.registry import Daicho
    from daicho.query.access import Access
    from daicho.web.api import Api


class ApiOnFirstRequest:
    """An `Api` that is built when it answers its first request."""

    def __init__(
        self, daicho: Daicho, open_book: Callable[[Access], Book], **settings: Any
    ) -> None:
        """See `Api`."""
        self._daicho, self._open_book, self._settings = daicho, open_book, settings

    def __call__(self, event: Mapping[str, Any], context: Context) -> dict[str, Any]:
        """Answer an event."""
        return self._api(event, context)

    @cached_property
    def _api(self) -> Api:
        with pause_garbage_collection():
            from daicho.web.api import Api  # noqa: PLC0415  # it loads the routes

            return Api(self._daicho, self._open_book, **self._settings)
