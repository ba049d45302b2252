"""Search and encoding on a GPU. CuPy is imported at first use.

`search` says what is done, on whatever a card is: `Card` runs the kernels of ``nearest.cu``. The tests have a
card of NumPy for machines without one.
"""

from .device import Card as Card
from .device import all_cards as all_cards
from .device import card_in_use as card_in_use
from .device import moved as moved
from .device import on_gpu as on_gpu
from .search import ROW as ROW
from .search import SHIFT as SHIFT
from .search import Queries as Queries
from .search import Rows as Rows
from .search import nearest as nearest
from .search import within as within
