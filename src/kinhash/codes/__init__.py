"""Packed bits, what each of them counts, and files of them."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["BitLayout", "Codes", "load_codes", "pack_bits", "save_codes", "unpack_bits"]
