"""Text analysis, and the algebra of posting lists: what a search stores, and what it finds."""
