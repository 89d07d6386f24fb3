"""The native part: what ``shingle`` documents and checks the arguments of. Options are JSON texts."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Protocol

__version__: str

class _Told(Protocol):
    note: Callable[[str], object] | None
    progress: Callable[[str, int, int], object] | None

class Trace:
    """The requests of a trace, in memory. An Arrow table with the columns ``time_ns``, ``op`` (R, W, T, F),
    ``offset_bytes`` and ``size_bytes``; ``trace[n]`` is a tuple of these."""

    @property
    def name(self) -> str:
        """A short name: the file's without folders, or the workload."""
    @property
    def format(self) -> str | None:
        """The format it was read in, and how that is known, as JSON; ``None`` if a program made it."""
    @property
    def hash(self) -> str:
        """What tells its requests from others: ``trace.hash`` of a result."""
    @property
    def end_bytes(self) -> int:
        """Bytes from the first of the disk to the last that is touched."""
    @property
    def seconds(self) -> float:
        """From the first request to the last."""
    def __len__(self) -> int: ...
    def __getitem__(self, at: int, /) -> tuple[int, str, int, int]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def describe(self, told: _Told | None = None) -> str: ...
    def shaped(self, options: str, told: _Told | None = None) -> Trace: ...
    def save(
        self, path: str | PathLike[str], format: str | None = None, told: _Told | None = None
    ) -> list[str]:
        """Writes it into a file, in the format that is named or that the name says. Returns sentences about what
        the format cannot carry."""
    def to_bytes(self) -> bytes:
        """Its requests, packed: 6 to 12 bytes each."""
    @classmethod
    def from_bytes(cls, name: str, bytes: bytes) -> Trace: ...

class Table:
    """An Arrow table, which polars, pandas, pyarrow and DuckDB take without a copy. ``len()`` is its rows."""

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

class Slots:
    """The slots of a cache, while a method of a policy runs."""

    @property
    def capacity(self) -> int:
        """Slots in the cache."""
    @property
    def dirty_blocks(self) -> int:
        """Dirty blocks, those on their way to the disk included."""
    @property
    def clean_blocks(self) -> int:
        """Clean blocks."""
    def block(self, slot: int) -> int:
        """The block in a slot: its number on the disk, of blocks of 4 KiB."""
    def zone(self, slot: int) -> int:
        """The zone of the block in a slot; 0 if the policy works without zones."""
    def dirty(self, slot: int) -> bool:
        """Whether a slot holds data that the disk does not have yet."""
    def evictable(self, slot: int) -> bool:
        """Whether a slot may be named: it holds a block, and no I/O is under way on it."""
    def find(self, block: int) -> int | None:
        """The slot that holds a block."""

class Access:
    """One block of a request, on its way through the cache."""

    @property
    def block(self) -> int:
        """The block: its number on the disk, of blocks of 4 KiB."""
    @property
    def is_write(self) -> bool: ...
    @property
    def partial(self) -> bool:
        """Whether the request covers the block only in part."""
    @property
    def was_dirty(self) -> bool:
        """Whether the block was cached and dirty before."""
    @property
    def number(self) -> int:
        """Number of the request, from 0."""
    @property
    def place(self) -> int:
        """Place of the block within its request, from 0."""
    @property
    def at_ns(self) -> int:
        """Arrival of the request, in nanoseconds since the first."""
    @property
    def offset_bytes(self) -> int:
        """First byte of the request."""
    @property
    def size_bytes(self) -> int:
        """Length of the request."""

class Definition:
    def __init__(
        self,
        policy: type,
        name: str,
        about: str,
        zones: bool,
        params: Sequence[tuple[str, str, str, str, Sequence[str]]],
        methods: Sequence[str],
        /,
    ) -> None: ...

class Report:
    def json(self) -> str: ...
    def table(self) -> Table: ...
    def course(self, run: int) -> Table: ...
    def pictures(self) -> str: ...
    def html(self) -> str: ...
    def save(self, path: str | PathLike[str]) -> None: ...

class Plan:
    def __init__(
        self,
        options: str,
        held: Sequence[tuple[str, int | None, Trace]],
        policies: Sequence[Definition],
        command: str,
        told: _Told | None = None,
    ) -> None: ...
    def __len__(self) -> int: ...
    def identity(self, number: int) -> str: ...
    def requests(self, number: int) -> int: ...
    def run(self, number: int) -> str: ...
    def traces(self) -> list[tuple[str, int, Trace]] | None: ...
    @property
    def name(self) -> str: ...
    @property
    def axes(self) -> list[tuple[str, list[str]]]: ...
    @property
    def notes(self) -> list[str]: ...

class Sweep:
    def __init__(self, plan: Plan, folder: str | PathLike[str], shard: str | None, fresh: bool) -> None: ...
    def done(self) -> int: ...
    def pending(self) -> list[int]: ...
    def keep(self, number: int, run: str) -> None: ...
    def run(self, threads: int, told: _Told | None = None) -> None: ...
    def finish(self, folder: str | PathLike[str]) -> Report | None: ...
    def close(self) -> None: ...

def compute(
    command: str,
    options: str,
    trace: Trace | None,
    policies: Sequence[Definition],
    written: str,
    told: _Told | None = None,
) -> Report: ...
def options() -> list[str]: ...
def listed(what: str) -> str: ...
def read(options: str, told: _Told | None = None) -> Trace: ...
def read_bytes(name: str, bytes: bytes, options: str, told: _Told | None = None) -> Trace: ...
def read_table(name: str, table: Any, options: str, told: _Told | None = None) -> Trace: ...
def mix(
    name: str,
    traces: Sequence[Trace],
    copies: int,
    shift: int | None,
    shuffle: bool,
    time_scale: float,
    seed: int,
    told: _Told | None = None,
) -> Trace: ...
def colours() -> tuple[list[str], list[str]]: ...
