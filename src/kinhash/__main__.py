"""``python -m kinhash`` is the same as ``kinhash``."""

from .cli import main

main()
