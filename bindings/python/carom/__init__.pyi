from carom import _carom as _carom
from carom._carom import *
from carom._carom import __version__ as __version__

def __getattr__(name: str) -> object: ...
