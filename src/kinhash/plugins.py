"""Tools for packages built on kinhash: more methods, metrics, data sets or commands.

kinhash-bench, the package with the benchmarks, imports these names and those of the public rooms, and nothing
else of kinhash; another package can do the same. Methods are registered under the entry point group
"kinhash.hashers" and checked by `kinhash.testing`, commands under "kinhash.commands" (a click command that
prints through the helpers of `kinhash.cli`).

Names here change only with a note in the changelog. They are imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._adam import Adam
    from ._blocks import block_slices, map_blocks, map_rows, n_threads, require_memory, single_blas_thread
    from ._check import (
        check_choice,
        check_features,
        check_integer,
        check_n_bits,
        check_number,
        is_integer,
        make_rng,
    )
    from ._compile import njit
    from ._files import replace_file
    from ._linalg import fit_rotation, jittered_cholesky
    from ._stages import Stages
    from ._table import Table
    from ._types import Array, Bools, Floats, Floats32, Ints
    from .baselines._base import NoSupervision
    from .baselines._centred import centre_columns, centred_moments
    from .baselines.itq import principal_directions, rotated_map
    from .datasets._arrays import read_npy, read_npz, write_npz
    from .datasets._compact import CompactFile
    from .datasets._files import damaged, inflated, read_bytes, reading, translating
    from .datasets._text import as_number, is_number, number_blocks, read_lines, text_lines
    from .encoders.base import HoldOut
    from .encoders.features import (
        FeatureMap,
        feature_map,
        first_preparation,
        standardised_moments,
        worth_trying,
    )
    from .encoders.gaussian import Gaussian, root_mean_square_distance
    from .encoders.labelled import LabelledSet, labelled_set, prepared_like
    from .encoders.least_squares import choose_alpha
    from .encoders.linear import LinearMap
    from .encoders.moments import Standardised
    from .encoders.periodic import PeriodicMap
    from .encoders.preparation import Preparation, UnitRBF
    from .encoders.prepared import PreparedRows, prepare_rows
    from .encoders.regressor import RegressorMap
    from .encoders.trees import Steps, Trees, TreesMap
    from .energies.lfh import curvature
    from .evaluation.float_rankings import ScoreRows
    from .evaluation.given_rankings import precision_of_scores
    from .evaluation.kin_found import precisions_of_found
    from .evaluation.mean_score import mean_of, spread
    from .evaluation.pairs import strangers_below
    from .evaluation.ranking import Sides, own_rows, read_ranking, read_sides
    from .evaluation.ranking_curve import precisions_at_recalls
    from .evaluation.scan import query_blocks
    from .evaluation.tie_groups import average_precisions, kin_among_first
    from .fields import KIN_ONLY
    from .gpu.card import all_cards
    from .hashers.settings import with_settings
    from .model_file import HASHERS
    from .rows import Rows
    from .solvers.problem import DenseProblem
    from .solvers.readout import LinearReadout, PolishReadout, pull_sums
    from .solvers.sample import Sample, draw_sample
    from .solvers.targets import Targets
    from .training import Training

__all__ = [
    "HASHERS",
    "KIN_ONLY",
    "Adam",
    "Array",
    "Bools",
    "CompactFile",
    "DenseProblem",
    "FeatureMap",
    "Floats",
    "Floats32",
    "Gaussian",
    "HoldOut",
    "Ints",
    "LabelledSet",
    "LinearMap",
    "LinearReadout",
    "NoSupervision",
    "PeriodicMap",
    "PolishReadout",
    "Preparation",
    "PreparedRows",
    "RegressorMap",
    "Rows",
    "Sample",
    "ScoreRows",
    "Sides",
    "Stages",
    "Standardised",
    "Steps",
    "Table",
    "Targets",
    "Training",
    "Trees",
    "TreesMap",
    "UnitRBF",
    "all_cards",
    "as_number",
    "average_precisions",
    "block_slices",
    "centre_columns",
    "centred_moments",
    "check_choice",
    "check_features",
    "check_integer",
    "check_n_bits",
    "check_number",
    "choose_alpha",
    "curvature",
    "damaged",
    "draw_sample",
    "feature_map",
    "first_preparation",
    "fit_rotation",
    "inflated",
    "is_integer",
    "is_number",
    "jittered_cholesky",
    "kin_among_first",
    "labelled_set",
    "make_rng",
    "map_blocks",
    "map_rows",
    "mean_of",
    "n_threads",
    "njit",
    "number_blocks",
    "own_rows",
    "precision_of_scores",
    "precisions_at_recalls",
    "precisions_of_found",
    "prepare_rows",
    "prepared_like",
    "principal_directions",
    "pull_sums",
    "query_blocks",
    "read_bytes",
    "read_lines",
    "read_npy",
    "read_npz",
    "read_ranking",
    "read_sides",
    "reading",
    "replace_file",
    "require_memory",
    "root_mean_square_distance",
    "rotated_map",
    "single_blas_thread",
    "spread",
    "standardised_moments",
    "strangers_below",
    "text_lines",
    "translating",
    "with_settings",
    "worth_trying",
    "write_npz",
]

_MODULES = {
    "_adam": "Adam",
    "_blocks": "block_slices map_blocks map_rows n_threads require_memory single_blas_thread",
    "_check": "check_choice check_features check_integer check_n_bits check_number is_integer make_rng",
    "_compile": "njit",
    "_files": "replace_file",
    "_linalg": "fit_rotation jittered_cholesky",
    "_stages": "Stages",
    "_table": "Table",
    "_types": "Array Bools Floats Floats32 Ints",
    "baselines._base": "NoSupervision",
    "baselines._centred": "centre_columns centred_moments",
    "baselines.itq": "principal_directions rotated_map",
    "datasets._arrays": "read_npy read_npz write_npz",
    "datasets._compact": "CompactFile",
    "datasets._files": "damaged inflated read_bytes reading translating",
    "datasets._text": "as_number is_number number_blocks read_lines text_lines",
    "encoders.base": "HoldOut",
    "encoders.features": "FeatureMap feature_map first_preparation standardised_moments worth_trying",
    "encoders.gaussian": "Gaussian root_mean_square_distance",
    "encoders.labelled": "LabelledSet labelled_set prepared_like",
    "encoders.least_squares": "choose_alpha",
    "encoders.linear": "LinearMap",
    "encoders.moments": "Standardised",
    "encoders.periodic": "PeriodicMap",
    "encoders.preparation": "Preparation UnitRBF",
    "encoders.prepared": "PreparedRows prepare_rows",
    "encoders.regressor": "RegressorMap",
    "encoders.trees": "Steps Trees TreesMap",
    "energies.lfh": "curvature",
    "evaluation.float_rankings": "ScoreRows",
    "evaluation.given_rankings": "precision_of_scores",
    "evaluation.kin_found": "precisions_of_found",
    "evaluation.mean_score": "mean_of spread",
    "evaluation.pairs": "strangers_below",
    "evaluation.ranking": "Sides own_rows read_ranking read_sides",
    "evaluation.ranking_curve": "precisions_at_recalls",
    "evaluation.scan": "query_blocks",
    "evaluation.tie_groups": "average_precisions kin_among_first",
    "fields": "KIN_ONLY",
    "gpu.card": "all_cards",
    "hashers.settings": "with_settings",
    "model_file": "HASHERS",
    "rows": "Rows",
    "solvers.problem": "DenseProblem",
    "solvers.readout": "LinearReadout PolishReadout pull_sums",
    "solvers.sample": "Sample draw_sample",
    "solvers.targets": "Targets",
    "training": "Training",
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __package__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
