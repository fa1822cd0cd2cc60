"""The command ``daicho``."""
