"""Data sets of papers, read from files you have.

``load(name)`` gives a `Dataset`; ``check()`` says what is there and what is missing; ``gist`` describes
pictures.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "DATASETS",
    "Dataset",
    "Facts",
    "Source",
    "Status",
    "Wanted",
    "check",
    "data_folder",
    "gist",
    "load",
    "prepare",
    "read_compact",
    "read_mulan",
    "write_compact",
]
