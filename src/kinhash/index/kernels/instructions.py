"""Which set of group functions this processor runs fastest: vectors, or one code at a time."""

from __future__ import annotations

from numba.core.registry import cpu_target

__all__ = [
    "VECTORS",
    "any_below",
    "any_below_4",
    "any_weighted",
    "any_weighted_4",
    "mask_below",
    "weighted_below",
]

# x86 without AVX2, by the names LLVM gives them; used when a CPU name is set without its features.
_NARROW = {
    "generic", "x86-64", "x86-64-v2", "i686", "core2", "penryn", "nehalem", "westmere", "corei7",
    "sandybridge", "ivybridge", "corei7-avx", "core-avx-i", "atom", "silvermont", "goldmont",
    "btver1", "btver2", "bdver1", "bdver2", "bdver3", "amdfam10", "k8", "k8-sse3",
}  # fmt: skip


def _has_wide_vectors() -> bool:
    triple, name, features = cpu_target.target_context.codegen().magic_tuple()[:3]
    if not str(triple).startswith(("x86", "i386", "i686", "amd64")):
        return True  # ARM counts bits by vector
    if features:
        return "+avx2" in str(features).split(",")
    return name not in _NARROW


VECTORS = _has_wide_vectors()

if VECTORS:
    from .vector import any_below, any_below_4, any_weighted, any_weighted_4, mask_below, weighted_below
else:
    from .scalar import any_below, any_below_4, any_weighted, any_weighted_4, mask_below, weighted_below
