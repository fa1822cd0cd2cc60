"""Text analysis and the algebra of posting lists: the postings and the results of a search."""
