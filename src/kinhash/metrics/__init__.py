"""How good are these codes? Scores that are exact about ties, and a judge on held-out rows.

`evaluate` is the verb: codes, labels, names of measures. `compare` fits a hasher on some rows and, on the
others, puts it beside float cosine, ITQ, OPQ, a label byte with PQ and a classifier: a table and sentences.
"""

from .answers import AnswerSheet as AnswerSheet
from .answers import ScoreOfLabel as ScoreOfLabel
from .answers import cosine_scores as cosine_scores
from .answers import mixture as mixture
from .answers import scores_by_label as scores_by_label
from .answers import self_retrieval as self_retrieval
from .answers import some_queries as some_queries
from .answers import top_k as top_k
from .answers import unit_rows as unit_rows
from .health import CodeHealth as CodeHealth
from .health import code_health as code_health
from .judge import SHARE_HELD_OUT as SHARE_HELD_OUT
from .judge import Comparison as Comparison
from .judge import Line as Line
from .judge import Split as Split
from .judge import compare as compare
from .judge import compare_bits as compare_bits
from .judge import compare_bridge as compare_bridge
from .judge import compare_pairs as compare_pairs
from .judge import compare_triplets as compare_triplets
from .judge import compare_views as compare_views
from .judge import hold_out as hold_out
from .judge import hold_out_pairs as hold_out_pairs
from .judge import reference_lines as reference_lines
from .rankings import NO_KIN as NO_KIN
from .rankings import Interval as Interval
from .rankings import MeanScore as MeanScore
from .rankings import PrecisionRecallCurve as PrecisionRecallCurve
from .rankings import Ranking as Ranking
from .rankings import ScoreRows as ScoreRows
from .rankings import Sides as Sides
from .rankings import bootstrap_interval as bootstrap_interval
from .rankings import evaluate as evaluate
from .rankings import hamming_scores as hamming_scores
from .rankings import own_rows as own_rows
from .rankings import precision_recall_curve as precision_recall_curve
from .rankings import query_blocks as query_blocks
from .rankings import read_ranking as read_ranking
from .rankings import read_sides as read_sides
from .rankings import scored_rows as scored_rows
from .rankings import shared_labels as shared_labels
from .rankings import summarize as summarize
from .rivals import COSINE as COSINE
from .rivals import FLOOR as FLOOR
from .rivals import ITQ as ITQ
from .rivals import MOST_CHANCES as MOST_CHANCES
from .rivals import OPQ as OPQ
from .rivals import RANDOM as RANDOM
from .rivals import Chances as Chances
from .rivals import Classifier as Classifier
from .rivals import Rivals as Rivals
from .rivals import log_losses as log_losses
from .rivals import out_of_fold as out_of_fold
from .rivals import unseen_chances as unseen_chances
from .tie_groups import TIES as TIES
from .tie_groups import TieGroups as TieGroups
