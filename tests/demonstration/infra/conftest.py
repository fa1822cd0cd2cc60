"""The Node of the library's own tests, which must be known before anything imports aws_cdk."""

from tests.infra.conftest import NODE

__all__ = ["NODE"]
