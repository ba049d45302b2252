"""Fitted hashers for other runtimes; each format is imported only when asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["to_onnx"]


def __getattr__(name: str) -> Any:
    if name == "to_onnx":
        return import_module(".onnx", __name__).to_onnx
    raise AttributeError(f"module 'kinhash.export' has no attribute {name!r}")
