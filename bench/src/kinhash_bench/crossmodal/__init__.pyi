from .base import CrossModal as CrossModal
from .batch import BATCH as BATCH
from .cca_itq import CCAITQ2 as CCAITQ2
from .dch import DCH as DCH
from .scm import SCM as SCM
from .seph import SePH as SePH
from .table import CROSS_MODAL as CROSS_MODAL
