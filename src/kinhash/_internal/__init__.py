"""Helpers that all rooms share: memory, threads, files, validation of input, tables of names. Not public."""
