"""Search, scoring and encoding on a graphics card; CuPy is imported only when a card is asked for.

`search` says what is done, on whatever a card is: `Card` runs the kernels of the ``.cu`` files, `Twin` does
the same in NumPy, for tests on machines without a card.
"""
