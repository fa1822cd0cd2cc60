"""The CDK app: one stack, for the stage in the context (``-c stage=prod``)."""

import sys

import aws_cdk as cdk

import domains
from daicho.declare.registry import Daicho
from daicho.errors import DeclarationError
from daicho.plan import Ledger
from daicho.web.routes.builder import build_operations
from infra.settings import Settings
from infra.stack import DaichoStack

try:
    daicho = Daicho.discover(domains)
    ledger = daicho.check_locked(Ledger.load())
    build_operations(daicho)  # a route that cannot be mounted would stop the whole API
except DeclarationError as error:
    sys.exit(f"not deployed: {error}")

app = cdk.App(analytics_reporting=False)
settings = Settings.from_context(app.node.try_get_context)
DaichoStack(app, settings=settings, ledger=ledger)
app.synth()
