"""Models: fitted maps as arrays of whole numbers and a short list of steps.

A fit learns a map in floating point. At its end the map is rounded once (`Map.whole`), and everything else
uses the rounded one: it gives a row the same bits on every machine, alone or in any batch, in NumPy, on a
GPU, in ONNX and in a browser.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["Map", "WholeMap", "to_onnx"]
