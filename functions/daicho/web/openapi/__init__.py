"""The OpenAPI description of all routes, and the examples in it.

Each name is loaded on its first access (`runtime.lazy_names`): few processes describe the API.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from daicho.runtime.lazy_names import lazy_imports

if TYPE_CHECKING:
    from daicho.web.openapi.document import describe_api as describe_api
    from daicho.web.openapi.document import describe_operations as describe_operations
    from daicho.web.openapi.static_page import StaticPage as StaticPage
    from daicho.web.openapi.swagger import SwaggerUi as SwaggerUi

__getattr__ = lazy_imports(
    __name__,
    {
        "document": ("describe_api", "describe_operations"),
        "static_page": ("StaticPage",),
        "swagger": ("SwaggerUi",),
    },
)
