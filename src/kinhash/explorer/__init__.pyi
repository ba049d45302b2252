from .build import Explorer as Explorer
from .build import explore as explore
