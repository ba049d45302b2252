"""Tools for packages built on kinhash: blocks of rows on threads, checks of settings, tables of names, safe files.

With these and the public rooms a package adds methods, metrics, data sets or commands; kinhash-bench, the
package with the benchmarks, imports nothing else. Methods subclass `kinhash.paper.Baseline` or `Unsupervised`,
are registered under the entry point group "kinhash.hashers" and checked by `kinhash.testing`; commands are
registered under "kinhash.commands".

Names here change only with a note in the changelog.
"""

from typing import Any

from ._internal.blocks import available_memory as available_memory
from ._internal.blocks import block_slices as block_slices
from ._internal.blocks import map_blocks as map_blocks
from ._internal.blocks import n_threads as n_threads
from ._internal.blocks import require_memory as require_memory
from ._internal.blocks import single_blas_thread as single_blas_thread
from ._internal.container import Form as Form
from ._internal.files import replace_file as replace_file
from ._internal.numerics import fit_rotation as fit_rotation
from ._internal.numerics import jittered_cholesky as jittered_cholesky
from ._internal.reading import Lines as Lines
from ._internal.reading import damaged as damaged
from ._internal.reading import inflated as inflated
from ._internal.reading import read_bytes as read_bytes
from ._internal.reading import read_npy as read_npy
from ._internal.reading import read_npz as read_npz
from ._internal.reading import reading as reading
from ._internal.reading import translating as translating
from ._internal.registry import Table as Table
from ._internal.rows import Rows as Rows
from ._internal.stages import Stages as Stages
from ._internal.types import Array as Array
from ._internal.types import Bools as Bools
from ._internal.types import Bytes as Bytes
from ._internal.types import Facts as Facts
from ._internal.types import Floats as Floats
from ._internal.types import Floats32 as Floats32
from ._internal.types import Ints as Ints
from ._internal.validation import as_matrix as as_matrix
from ._internal.validation import check_choice as check_choice
from ._internal.validation import check_features as check_features
from ._internal.validation import check_integer as check_integer
from ._internal.validation import check_n_bits as check_n_bits
from ._internal.validation import check_number as check_number
from ._internal.validation import is_integer as is_integer
from ._internal.validation import make_rng as make_rng


def njit(**options: Any) -> Any:
    """``numba.njit`` with the cache of kinhash; Numba is imported when the first function is decorated."""
    from ._internal.compile import njit as compiled

    return compiled(**options)
