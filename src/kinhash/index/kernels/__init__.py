"""Kernels of the search: compiled loops over packed codes. Only files of `kinhash.index` import them.

Kernels take and return bare arrays and check nothing: `kinhash.index.validation` has checked them.
`numpy_reference` holds the slow twins that the tests compare with.
"""
