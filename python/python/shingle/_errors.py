"""What can go wrong, with the line that the command line would print."""


class ShingleError(Exception):
    """Anything that went wrong in shingle. Its text is one line: what, where, what to do."""


class UsageError(ShingleError, ValueError):
    """A wrong option, name or value; the command line would end with 2."""


class OptionTypeError(UsageError, TypeError):
    """A value of a wrong type."""


class DataError(ShingleError, RuntimeError):
    """A trace or file is not as it should be, or a run failed; the command line would end with 1."""
