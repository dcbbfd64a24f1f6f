"""Errors of the operating system that no participant's file or program can cause."""

from __future__ import annotations

import errno

_NUMBERS = {
    errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.ESTALE, errno.EMFILE, errno.ENFILE
}  # fmt: skip


def is_of_host(error: BaseException) -> bool:
    """Return whether the cause is a disk or a limit of this machine, not the file that was used.

    Examples
    --------
    >>> is_of_host(OSError(errno.ENOSPC, "full")), is_of_host(OSError(errno.ELOOP, "a link"))
    (True, False)
    """
    return isinstance(error, OSError) and error.errno in _NUMBERS
