"""The CDK app: one stack, for the stage that the context names (``-c stage=prod``)."""

import aws_cdk as cdk

from daicho.plan import Ledger
from infra.settings import Settings
from infra.stack import DaichoStack

app = cdk.App(analytics_reporting=False)
settings = Settings.from_context(app.node.try_get_context)
DaichoStack(app, settings=settings, ledger=Ledger.load())
app.synth()
