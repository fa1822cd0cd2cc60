"""One module for each Lambda function: it takes the library's function of the same name."""
