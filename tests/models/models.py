"""The models, in the order of their rules."""

from tests.models import rule_26, rule_27, rule_28, rule_30, rule_32, rule_34, rule_56

RULES = (rule_26, rule_27, rule_28, rule_30, rule_32, rule_34, rule_56)
MODELS = tuple(each.MODEL for each in RULES)
