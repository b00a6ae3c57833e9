from carom import _carom as _carom
from carom import compat as compat, io as io, sim as sim
from carom._carom import *
from carom._carom import __version__ as __version__
