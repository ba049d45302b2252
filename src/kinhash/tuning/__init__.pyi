from .tuner import Choice as Choice
from .tuner import tune as tune
