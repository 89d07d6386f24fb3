"""shingle: SSD caches in front of shingled (SMR) disks, simulated over block traces.

    import shingle

    result = shingle.compare("synth:mixed", policies=["lru", "most", "sac"], cache="15%")
    print(result.verdicts[0])
    result.plot()

Functions run what the commands of the same names run, with the options of the same names; results are those of
``--json``. Sizes are texts such as ``"256MiB"``, ``"5000b"`` (blocks of 4 KiB) or ``"5%"`` (of the different blocks
that the trace accesses); everything else has its unit in its name.
"""

from . import trace
from ._calls import load
from ._errors import DataError, OptionTypeError, ShingleError, UsageError
from ._lists import drives, formats, policies, ssds, translations, workloads
from ._native import Access, Slots, Table, Trace, __version__
from ._policy import Policy
from ._results import Result
from ._runs import compare, run
from ._sweeps import Sweep, sweep

__all__ = [
    "Access",
    "DataError",
    "OptionTypeError",
    "Policy",
    "Result",
    "ShingleError",
    "Slots",
    "Sweep",
    "Table",
    "Trace",
    "UsageError",
    "__version__",
    "compare",
    "drives",
    "formats",
    "load",
    "policies",
    "run",
    "ssds",
    "sweep",
    "trace",
    "translations",
    "workloads",
]
