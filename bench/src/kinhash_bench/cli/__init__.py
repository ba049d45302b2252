"""Commands that this package adds to ``kinhash``, by the entry point group "kinhash.commands"."""
