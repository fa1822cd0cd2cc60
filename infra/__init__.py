"""The infrastructure of this repository: the library's stack, with checks of its own."""
