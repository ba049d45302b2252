"""The paper, whole: its energies, its inference, its methods under their names; and codes that need no labels.

Hu, Luo, Lu, Yu. Supervised hashing based on energy minimization. arXiv:1712.00573, 2017.

`energies` say what a pair of codes costs, `similarity` how similar two rows should be, `inference` finds codes,
`maps` predict them from features, `em` puts these together as the paper does, and `unsupervised` has what codes
without labels can do. `method` is what another package subclasses to add a method.
"""

from .em import EMBRE as EMBRE
from .em import EMKSH as EMKSH
from .em import EMLFH as EMLFH
from .em import EMSPLH as EMSPLH
from .em import EMExpH as EMExpH
from .energies import BRE as BRE
from .energies import ENERGIES as ENERGIES
from .energies import KSH as KSH
from .energies import LFH as LFH
from .energies import SPLH as SPLH
from .energies import Energy as Energy
from .energies import ExpH as ExpH
from .energies import PairTerms as PairTerms
from .energies import curvature as curvature
from .inference import DenseProblem as DenseProblem
from .inference import SparseProblem as SparseProblem
from .inference import draw_sample as draw_sample
from .inference import leading_eigenvector as leading_eigenvector
from .inference import line_slope as line_slope
from .inference import linearize as linearize
from .inference import mean_field as mean_field
from .inference import renormalize as renormalize
from .inference import round_marginals as round_marginals
from .inference import solve_linearized as solve_linearized
from .maps import LinearMap as LinearMap
from .maps import Preparation as Preparation
from .maps import PreparedMap as PreparedMap
from .maps import Standardized as Standardized
from .maps import choose_alpha as choose_alpha
from .maps import first_preparation as first_preparation
from .maps import prepare_rows as prepare_rows
from .maps import standardized_moments as standardized_moments
from .method import Baseline as Baseline
from .method import Card as Card
from .method import Solved as Solved
from .method import Unsupervised as Unsupervised
from .similarity import NoSupervision as NoSupervision
from .similarity import PairSupervision as PairSupervision
from .similarity import Supervision as Supervision
from .similarity import Training as Training
from .similarity import from_labels as from_labels
from .similarity import from_pairs as from_pairs
from .similarity import from_similarity as from_similarity
from .unsupervised import ITQ as ITQ
from .unsupervised import LSH as LSH
from .unsupervised import SignBits as SignBits
from .unsupervised import center_columns as center_columns
from .unsupervised import centered_moments as centered_moments
from .unsupervised import itq_rotation as itq_rotation
from .unsupervised import principal_directions as principal_directions
from .unsupervised import rotated_map as rotated_map
