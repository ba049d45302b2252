from .app import create_app as create_app
from .limits import Limits as Limits
from .server import BACKLOG as BACKLOG
from .server import serve as serve
