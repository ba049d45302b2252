"""Models: fitted maps as arrays of whole numbers, which give the same bits everywhere."""

from .guard import Seen as Seen
from .guard import Watch as Watch
from .model import SPREAD_BITS as SPREAD_BITS
from .model import Arrays as Arrays
from .model import Builder as Builder
from .model import Map as Map
from .model import Model as Model
from .model import WholeMap as WholeMap
from .model import arrays_id as arrays_id
from .model import packed_codes as packed_codes
from .model import whole_network as whole_network
from .onnx import OPSET as OPSET
from .onnx import to_onnx as to_onnx
from .steps import SIMILARITY_BITS as SIMILARITY_BITS
from .steps import Bound as Bound
from .steps import Clip as Clip
from .steps import Columns as Columns
from .steps import Inexact as Inexact
from .steps import Join as Join
from .steps import Linear as Linear
from .steps import Relative as Relative
from .steps import Similarities as Similarities
from .steps import Step as Step
from .steps import Tabled as Tabled
from .steps import Unit as Unit
from .steps import places as places
from .steps import require_exact as require_exact

__all__ = ["Builder", "Map", "WholeMap", "to_onnx", "whole_network"]
