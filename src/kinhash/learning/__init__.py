"""Learning: how inference and maps are put together into a fitted hasher. No mathematics of its own."""
