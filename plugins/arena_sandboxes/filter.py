"""The system calls that a program in a sandbox may make, as a filter of seccomp."""

from __future__ import annotations

import errno
import functools
import os
import socket

from arena.errors import SandboxError

_REFUSED = (
    # file systems and namespaces
    "mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsconfig",
    "fsmount", "fspick", "mount_setattr", "unshare", "setns", "quotactl", "quotactl_fd",
    "open_by_handle_at", "name_to_handle_at", "fanotify_init",
    # the kernel itself
    "bpf", "io_uring_setup", "io_uring_enter", "io_uring_register", "perf_event_open",
    "userfaultfd", "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load",
    "reboot", "swapon", "swapoff", "syslog", "acct", "iopl", "ioperm", "nfsservctl",
    "lookup_dcookie", "vhangup", "uselib",
    # other processes
    "ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd", "process_madvise",
    # keyrings and clocks
    "add_key", "request_key", "keyctl", "settimeofday", "clock_settime", "clock_adjtime",
    "adjtimex", "sethostname", "setdomainname",
    # memory of another node, which slows others down
    "mbind", "migrate_pages", "move_pages", "set_mempolicy",
)  # fmt: skip
_FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)
"""Families of sockets that the network namespace covers, or that stay in the sandbox."""
_NAMESPACES = (1 << 17, 1 << 25, 1 << 26, 1 << 27, 1 << 28, 1 << 29, 1 << 30)
"""Flags of ``clone`` that make namespaces: of mounts, control groups, host names, messages between
processes, users, processes and networks."""
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_LOW_32_BITS = 0xFFFFFFFF
_FADV_DONTNEED = 4


@functools.cache
def program_filter() -> bytes:
    """Return the filter as a program of BPF. Calls of other processor modes end the process.

    Raises
    ------
    SandboxError
        If libseccomp is missing.
    """
    try:
        import pyseccomp as seccomp
    except (ImportError, RuntimeError) as error:
        raise SandboxError(
            "The filter of system calls cannot be made: install libseccomp (apt-get install "
            "libseccomp2), and pyseccomp (pip install 'arena-leaderboard[programs]')."
        ) from error
    refuse = seccomp.ERRNO(errno.EPERM)
    rules = seccomp.SyscallFilter(defaction=seccomp.ALLOW)
    rules.set_attr(seccomp.Attr.ACT_BADARCH, seccomp.KILL_PROCESS)
    for name in _REFUSED:
        if seccomp.resolve_syscall(seccomp.system_arch(), name) >= 0:
            rules.add_rule(refuse, name)
    # The flags of clone3 are in memory, where a filter cannot read them. Libraries then call clone.
    rules.add_rule(seccomp.ERRNO(errno.ENOSYS), "clone3")
    for flag in _NAMESPACES:
        rules.add_rule(refuse, "clone", seccomp.Arg(0, seccomp.MASKED_EQ, flag, flag))
    for request in (_TIOCSTI, _TIOCLINUX):
        masked = seccomp.Arg(1, seccomp.MASKED_EQ, _LOW_32_BITS, request)
        rules.add_rule(refuse, "ioctl", masked)
    # Advice that does nothing: by dropping copies of files, a program could inform a later one.
    advice = seccomp.Arg(3, seccomp.MASKED_EQ, _LOW_32_BITS, _FADV_DONTNEED)
    rules.add_rule(seccomp.ERRNO(0), "fadvise64", advice)
    for call in ("socket", "socketpair"):
        rules.add_rule(refuse, call, seccomp.Arg(0, seccomp.GT, max(_FAMILIES)))
        for family in set(range(max(_FAMILIES))) - set(_FAMILIES):
            rules.add_rule(refuse, call, seccomp.Arg(0, seccomp.EQ, family))
    with os.fdopen(os.memfd_create("filter"), "w+b", buffering=0) as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()
