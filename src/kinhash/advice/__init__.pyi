from .advice import Advice as Advice
from .advice import Measurement as Measurement
from .advice import Recommendation as Recommendation
from .comparison import advise as advise
