"""The Lambda functions: their code and layer, their grants, and what invokes each."""
