"""One request and its answer: parsing, execution, preconditions, responses and problems."""
