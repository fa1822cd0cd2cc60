"""The settings of a deployed stack, compared with the template that it was deployed from."""
