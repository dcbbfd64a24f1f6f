"""Programs that try what a sandbox must prevent, each with the ends that it may have.

A program prints ``BROKEN`` and what it could do if it succeeds. One that must be refused something
writes an output at its end, so that its end says that it tried everything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from arena.interfaces import End

PRELUDE = r"""
import contextlib, ctypes, errno, fcntl, json, mmap, os, resource, signal, socket, stat, struct
import subprocess, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
facts = json.load(open("/input/facts.json"))

def broken(what):
    print("BROKEN:", what, flush=True)

def refused(what, action, *arguments):
    try:
        action(*arguments)
    except Exception:
        return
    broken(what)

def output(content=b"id,y\n1,2\n"):
    with open("/output/predictions.csv", "wb") as file:
        file.write(content)

def fill(path):
    with open(path, "wb") as file:
        while True:
            file.write(bytes(2**20))

def forever():
    while True:
        pass
"""
"""The beginning of every program."""

_OK = frozenset({End.OK})
_TIME = frozenset({End.TIME})
_MEMORY = frozenset({End.MEMORY})
_NO_OUTPUT = frozenset({End.NO_OUTPUT})
_BOUNDED = frozenset({End.TIME, End.MEMORY, End.CRASH, End.DISK})


@dataclass(frozen=True, slots=True)
class HostileProgram:
    """A program, and what may become of it."""

    name: str
    code: str
    """What follows :data:`PRELUDE`."""
    ends: frozenset[End]
    limits: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    """Limits other than the usual ones."""
    outputs: tuple[str, ...] = ("predictions.csv", "predictions/")


_SHORT = MappingProxyType({"seconds": 1.0})

_RESOURCES = (
    HostileProgram("fork-bomb", r"""
while True:
    try:
        os.fork()
    except OSError:
        pass
""", _BOUNDED, _SHORT),
    HostileProgram("thread-bomb", r"""
while True:
    try:
        threading.Thread(target=time.sleep, args=(100,)).start()
    except RuntimeError:
        pass
""", _BOUNDED, _SHORT),
    HostileProgram("memory", "kept = [bytearray(2**22) for _ in range(10**4)]", _MEMORY),
    HostileProgram("memory-children", r"""
for _ in range(4):
    if os.fork() == 0:
        kept = bytearray(2**26)
        time.sleep(100)
time.sleep(100)
""", _MEMORY),
    HostileProgram("mmap-shared-anon", r"""
shared = mmap.mmap(-1, 2**28)
for start in range(0, 2**28, 4096):
    shared[start] = 1
""", _MEMORY),
    HostileProgram("memfd", r"""
file = os.memfd_create("x")
while True:
    os.write(file, bytes(2**20))
""", _MEMORY),
    HostileProgram("huge-pages", r"""
# With this flag (MAP_NORESERVE) the call succeeds on machines without free huge pages, too.
refused("it maps huge pages", mmap.mmap, -1, 2**21, 0x22 | 0x40000 | 0x4000)
refused("it has a file of huge pages", os.memfd_create, "x", 0x4)
if libc.shmget(0, 2**21, 0o4000 | 0o10000 | 0o1600) >= 0:
    broken("it shares huge pages")
output()
""", _OK),
    HostileProgram("disk-tmp", "fill('/tmp/x')", frozenset({End.DISK})),
    HostileProgram("disk-output", "fill('/output/x')", frozenset({End.DISK})),
    HostileProgram("disk-shm", "fill('/dev/shm/x')", frozenset({End.DISK})),
    HostileProgram("disk-elsewhere", r"""
mine = ("/output", "/tmp", "/dev/shm", "/proc")
for folder, folders, files in os.walk("/"):
    if folder.startswith(mine) or folder.count("/") > 3:
        folders.clear()
        continue
    try:
        file = os.open(folder + "/x", os.O_CREAT | os.O_WRONLY)
    except OSError:
        continue
    broken("it wrote to " + folder)
output()
""", _OK),
    HostileProgram("inodes", r"""
for number in range(10**7):
    os.close(os.open(f"/tmp/{number}", os.O_CREAT))
""", _BOUNDED, MappingProxyType({"seconds": 3.0})),
    HostileProgram("deep-folders", r"""
os.mkdir("/output/predictions")
os.chdir("/output/predictions")
for _ in range(3000):
    os.mkdir("x")
    os.chdir("x")
open("y", "w")
""", _NO_OUTPUT),
    HostileProgram("loop", "forever()", _TIME, _SHORT),
    HostileProgram("ignore-signals", r"""
for number in range(1, 65):
    with contextlib.suppress(OSError, ValueError):
        signal.signal(number, signal.SIG_IGN)
forever()
""", _TIME, _SHORT),
    # The first process of a namespace does not stop: then it ends without an output.
    HostileProgram("stops-itself", "os.kill(os.getpid(), signal.SIGSTOP)",
                   frozenset({End.TIME, End.NO_OUTPUT}), _SHORT),
    HostileProgram("output-then-hangs", "output(); os.closerange(0, 100); time.sleep(100)", _TIME,
                   _SHORT),
    HostileProgram("closes-log-runs-on", "os.close(1); os.close(2); forever()", _TIME, _SHORT),
    HostileProgram("log-flood", r"""
while True:
    os.write(1, b"x" * 65536)
""", _TIME, _SHORT),
    HostileProgram("more-cores", r"""
for _ in range(6):
    if os.fork() == 0:
        forever()
forever()
""", _TIME, _SHORT),
    HostileProgram("pipes", r"""
kept = []
for _ in range(4000):
    reading, writing = os.pipe()
    with contextlib.suppress(OSError):
        fcntl.fcntl(writing, 1031, 2**20)
    os.set_blocking(writing, False)
    with contextlib.suppress(OSError):
        while True:
            os.write(writing, bytes(65536))
    kept.append((reading, writing))
""", frozenset({End.MEMORY, End.CRASH, End.NO_OUTPUT})),
    HostileProgram("socket-buffers", r"""
kept = []
for _ in range(2000):
    pair = socket.socketpair()
    pair[0].setblocking(False)
    with contextlib.suppress(OSError):
        while True:
            pair[0].send(bytes(65536))
    kept.append(pair)
""", frozenset({End.MEMORY, End.CRASH, End.NO_OUTPUT})),
    HostileProgram("zombies", r"""
made = 0
with contextlib.suppress(OSError):
    while made < 10**4:
        if os.fork() == 0:
            os._exit(0)
        made += 1
if made > facts["processes"]:
    broken(f"it made {made} processes")
output()
""", _OK),
    HostileProgram("raised-limits", r"""
for kind in (resource.RLIMIT_CORE, resource.RLIMIT_NOFILE):
    hard = resource.getrlimit(kind)[1]
    if kind == resource.RLIMIT_CORE and hard != 1:
        broken("a collector of crashes may be started")
    if hard == resource.RLIM_INFINITY:
        broken(f"limit {kind} is infinite")
    refused(f"it raised limit {kind}", resource.setrlimit, kind, (hard + 1, hard + 1))
output()
""", _OK),
    HostileProgram("priorities", r"""
refused("nice", os.nice, -1)
refused("a real-time class", os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(1))
output()
""", _OK),
)  # fmt: skip

_ENDS = (
    HostileProgram("daemon-holds-log", r"""
output()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(100)
    os._exit(0)
""", _OK),
    HostileProgram("orphans", r"""
output()
for _ in range(8):
    if os.fork() == 0:
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        time.sleep(100)
""", _OK),
    HostileProgram("late-writer", r"""
output()
if os.fork() == 0:
    while True:
        output(b"late\n" * 1000)
""", _OK),
    HostileProgram("kills-all", "output(); os.kill(-1, signal.SIGKILL)",
                   frozenset({End.OK, End.CRASH})),
    HostileProgram("kills-its-group", "os.kill(0, signal.SIGKILL)",
                   frozenset({End.CRASH, End.NO_OUTPUT})),
    HostileProgram("kills-its-parent", r"""
with contextlib.suppress(OSError):
    os.kill(os.getppid(), signal.SIGKILL)
    os.kill(1, signal.SIGKILL)
output()
""", _OK),
    HostileProgram("exit-without", "", _NO_OUTPUT),
    HostileProgram("segfault", "output(); ctypes.string_at(0)", frozenset({End.CRASH})),
    HostileProgram("core-dump", r"""
refused("core", resource.setrlimit, resource.RLIMIT_CORE, (2**20, 2**20))
os.abort()
""", frozenset({End.CRASH})),
    HostileProgram("shared-memory-left", r"""
libc.shmget(0x4152, 4096, 0o1666)
libc.semget(0x4152, 1, 0o1666)
libc.msgget(0x4152, 0o1666)
open("/dev/shm/arena-left", "w").write("x")
output()
""", _OK),
    HostileProgram("bad-output-bytes", "output(bytes(range(256)))", _OK),
)  # fmt: skip

_OUTPUTS = (
    HostileProgram("symlink", "os.symlink('/etc/passwd', '/output/predictions.csv')", _NO_OUTPUT),
    HostileProgram("symlink-folder", "os.symlink('/usr', '/output/predictions')", _NO_OUTPUT),
    HostileProgram("fifo", "os.mkfifo('/output/predictions.csv')", _NO_OUTPUT),
    HostileProgram("socket-file", r"""
socket.socket(socket.AF_UNIX).bind("/output/predictions.csv")
""", _NO_OUTPUT),
    HostileProgram("device-file", r"""
for kind in (stat.S_IFCHR, stat.S_IFBLK):
    refused("a device", os.mknod, "/output/predictions.csv", kind | 0o666, os.makedev(1, 5))
""", _NO_OUTPUT),
    HostileProgram("folder-as-file", "os.mkdir('/output/predictions.csv')", _NO_OUTPUT),
    HostileProgram("file-as-folder", "open('/output/predictions', 'w').write('x')", _NO_OUTPUT),
    HostileProgram("sparse-1TB", r"""
with open("/output/predictions.csv", "wb") as file:
    file.truncate(2**40)
""", frozenset({End.OUTPUT_TOO_LARGE, End.CRASH})),
    HostileProgram("too-large", "output(bytes(2**16))", frozenset({End.OUTPUT_TOO_LARGE})),
    HostileProgram("hard-link-input", r"""
refused("a link", os.link, "/input/facts.json", "/output/predictions.csv")
refused("a link", os.link, "/program/main.py", "/output/predictions.csv")
""", _NO_OUTPUT),
    HostileProgram("output-swap", r"""
os.symlink("/etc/passwd", "/output/link")
output()
for _ in range(3):
    if os.fork() == 0:
        while True:
            os.rename("/output/predictions.csv", "/output/other")
            os.rename("/output/link", "/output/predictions.csv")
            os.rename("/output/predictions.csv", "/output/link")
            os.rename("/output/other", "/output/predictions.csv")
""", frozenset({End.OK, End.NO_OUTPUT})),
    HostileProgram("links-in-folder", r"""
os.mkdir("/output/predictions")
os.symlink("/etc/passwd", "/output/predictions/a.csv")
""", _NO_OUTPUT),
    HostileProgram("many-files-in-folder", r"""
os.mkdir("/output/predictions")
for number in range(200):
    open(f"/output/predictions/{number}", "w")
""", frozenset({End.OUTPUT_TOO_LARGE})),
    HostileProgram("many-folders-in-folder", r"""
for number in range(20):
    os.makedirs(f"/output/predictions/{number}")
    for inner in range(20):
        os.mkdir(f"/output/predictions/{number}/{inner}")
""", frozenset({End.OUTPUT_TOO_LARGE})),
    HostileProgram("bad-names-in-folder", r"""
os.mkdir("/output/predictions")
open(b"/output/predictions/\xff", "w")
""", _NO_OUTPUT),
    HostileProgram("unreadable-output", r"""
output()
os.chmod("/output/predictions.csv", 0)
os.chmod("/output", 0)
""", frozenset({End.OK, End.NO_OUTPUT})),
    HostileProgram("folder-without-entry", r"""
os.mkdir("/output/predictions")
open("/output/predictions/a.csv", "w")
os.chmod("/output/predictions", 0o400)
""", frozenset({End.OK, End.NO_OUTPUT})),
    HostileProgram("replaces-output", r"""
refused("it renamed /output", os.rename, "/output", "/tmp/other")
refused("it removed /output", os.rmdir, "/output")
output()
""", _OK),
)  # fmt: skip

_REACH = (
    HostileProgram("network", r"""
for family, address in (
    (socket.AF_INET, ("127.0.0.1", facts["port"])),
    (socket.AF_INET, ("1.1.1.1", 53)),
    (socket.AF_INET6, ("2606:4700:4700::1111", 53)),
):
    with socket.socket(family) as opened:
        opened.settimeout(1)
        refused(f"it reached {address}", opened.connect, address)
refused("it resolved a name", socket.getaddrinfo, "example.org", 80)
output()
""", _OK),
    HostileProgram("abstract-socket", r"""
with socket.socket(socket.AF_UNIX) as opened:
    refused("it reached a socket outside", opened.connect, "\0" + facts["socket"])
output()
""", _OK),
    HostileProgram("interfaces", r"""
names = [name for _, name in socket.if_nameindex()]
if names != ["lo"]:
    broken(f"it sees {names}")
output()
""", _OK),
    HostileProgram("socket-families", r"""
for family in range(64):
    if family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK):
        continue
    for kind in (1, 2, 3, 5):
        refused(f"a socket of family {family}", socket.socket, family, kind)
for kind in (socket.SOCK_RAW,):
    refused("a raw socket", socket.socket, socket.AF_INET, kind, 1)
output()
""", _OK),
    HostileProgram("namespaces", r"""
for flag in (1 << 17, 1 << 25, 1 << 26, 1 << 27, 1 << 28, 1 << 29, 1 << 30, 1 << 7):
    if libc.unshare(flag) == 0:
        broken(f"it entered a namespace {flag:#x}")
    pid = libc.syscall(56, ctypes.c_ulong(flag | signal.SIGCHLD if flag > 128 else 0), 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    if pid > 0 and flag > 128:
        broken(f"it made a process in a namespace {flag:#x}")
for name in os.listdir("/proc/1/ns"):
    with contextlib.suppress(OSError):
        if libc.setns(os.open(f"/proc/1/ns/{name}", os.O_RDONLY), 0) == 0:
            broken(f"it entered the namespace {name}")
output()
""", _OK),
    HostileProgram("system-calls", r"""
numbers = {
    "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "open_tree": 428,
    "move_mount": 429, "fsopen": 430, "mount_setattr": 442, "bpf": 321, "io_uring_setup": 425,
    "perf_event_open": 298, "userfaultfd": 323, "ptrace": 101, "process_vm_readv": 310,
    "kcmp": 312, "pidfd_getfd": 438, "add_key": 248, "request_key": 249, "keyctl": 250,
    "init_module": 175, "finit_module": 313, "delete_module": 176, "kexec_load": 246,
    "reboot": 169, "swapon": 167, "syslog": 103, "acct": 163, "iopl": 172, "settimeofday": 164,
    "clock_settime": 227, "open_by_handle_at": 304, "name_to_handle_at": 303, "quotactl": 179,
    "fanotify_init": 300, "setdomainname": 171, "clone3": 435, "mbind": 237,
} if os.uname().machine == "x86_64" else {}
for name, number in numbers.items():
    ctypes.set_errno(0)
    answer = libc.syscall(number, 0, 0, 0, 0, 0, 0)
    if answer != -1 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS):
        broken(f"{name} answers {answer}, {errno.errorcode.get(ctypes.get_errno())}")
output()
""", _OK),
    HostileProgram("i386-calls", r"""
# int 0x80: mkdir("/tmp/i386", 0777), whose path is in the lower 4 GB.
low = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40,
                prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
address = ctypes.addressof(ctypes.c_char.from_buffer(low))
path = b"/tmp/i386\0"
low[100:100 + len(path)] = path
code = b"\x53\xb8\x27\0\0\0\xbb" + struct.pack("<I", (address + 100) & 0xFFFFFFFF)
code += b"\xb9\xff\x01\0\0\xcd\x80\x5b\xc3"
low[:len(code)] = code
if os.uname().machine == "x86_64":
    ctypes.CFUNCTYPE(ctypes.c_int)(address)()
    broken("int 0x80 went on")
else:
    os.abort()
""", frozenset({End.CRASH})),
    HostileProgram("x32-calls", r"""
if os.uname().machine == "x86_64":
    libc.syscall(0x40000000 | 39)
    answer = libc.syscall(0x40000000 | 39)
    if answer > 0:
        broken("getpid of x32 answers")
output()
""", frozenset({End.CRASH, End.OK})),
    HostileProgram("processes-seen", r"""
pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
if len(pids) > 4:
    broken(f"it sees {len(pids)} processes")
output()
""", _OK),
    HostileProgram("filter-of-the-first", r"""
status = open("/proc/1/status").read()
if "Seccomp:\t2" not in status or "CapEff:\t0000000000000000" not in status:
    broken("process 1 has no filter, or capabilities")
output()
""", _OK),
    HostileProgram("paths-leak", r"""
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("cmdline", "environ"):
        with contextlib.suppress(OSError):
            text = open(f"/proc/{pid}/{name}", "rb").read().decode()
            if facts["folder"] in text:
                broken(f"{name} of {pid} holds a path of the machine")
output()
""", _OK),
    HostileProgram("hidden-files", r"""
for path in (facts["folder"], "/etc/shadow", "/root", "/home", "/var", "/run", "/boot", "/srv",
             "/opt", "/mnt", "/media", "/lost+found", "/proc/1/root" + facts["folder"],
             "/proc/self/root" + facts["folder"]):
    with contextlib.suppress(OSError):
        if os.path.isfile(path) or os.listdir(path):
            broken(f"it sees {path}")
output()
""", _OK),
    HostileProgram("variables", r"""
for name, value in os.environ.items():
    if facts["secret"] in name + value:
        broken(f"it sees the variable {name}")
output()
""", _OK),
    HostileProgram("descriptors", r"""
for name in os.listdir("/proc/self/fd"):
    with contextlib.suppress(OSError):
        where = os.readlink(f"/proc/self/fd/{name}")
        if int(name) > 2 and not where.startswith("/proc/"):
            broken(f"descriptor {name} is {where}")
output()
""", _OK),
    HostileProgram("standard-input", r"""
if sys.stdin is not None and sys.stdin.read():
    broken("standard input holds something")
output()
""", _OK),
    HostileProgram("proc-writes", r"""
for folder, folders, files in os.walk("/proc/sys"):
    for name in files:
        refused(f"it opened {folder}/{name}", os.open, f"{folder}/{name}", os.O_WRONLY)
for path in ("/proc/sysrq-trigger", "/proc/1/oom_score_adj", "/proc/kcore", "/proc/kmsg",
             "/proc/1/mem", "/proc/irq/default_smp_affinity"):
    is_own = path.startswith("/proc/1/") and os.getpid() == 1
    is_covered = os.path.exists(path) and os.stat(path).st_rdev == os.stat("/dev/null").st_rdev
    if not is_own and not is_covered:
        refused(f"it opened {path}", os.open, path, os.O_RDWR)
output()
""", _OK),
    HostileProgram("kernel-log", r"""
for path in ("/proc/kcore", "/proc/kmsg", "/dev/kmsg", "/proc/kallsyms"):
    with contextlib.suppress(OSError):
        text = open(path, "rb").read(4096)
        if text.strip(b"\0") and not text.startswith(b"0000000000000000"):
            broken(f"it reads {path}")
output()
""", _OK),
    HostileProgram("counters", r"""
shown = {"cmdline", "cpuinfo", "filesystems", "version"}
for folder, folders, files in os.walk("/proc"):
    folders[:] = [name for name in folders if not name.isdigit() and name != "sysvipc"]
    for name in files:
        path = f"{folder}/{name}"
        with contextlib.suppress(OSError):
            if not os.path.islink(path) and name not in shown and open(path, "rb").read(1):
                broken(f"it reads {path}, which other programs change")
output()
""", _OK),
    HostileProgram("drops-copies", r"""
# Ask the system to drop its copy of a library in use, then ask whether it has one.
library = os.open(os.__file__, os.O_RDONLY)
size = os.fstat(library).st_size
os.pread(library, size, 0)
os.posix_fadvise(library, 0, 0, os.POSIX_FADV_DONTNEED)
with contextlib.suppress(OSError):
    if os.preadv(library, [bytearray(4096)], 0, 0x8) == 0:
        broken("it dropped the copy of a file")
try:
    os.preadv(library, [bytearray(4096)], 0, 0x8)
except BlockingIOError:
    broken("it dropped the copy of a file")
output()
""", _OK),
    HostileProgram("sys-folder", r"""
for path in ("/sys", "/sys/fs/cgroup", "/sys/kernel"):
    with contextlib.suppress(OSError):
        if os.access(path, os.W_OK) or "debug" in os.listdir(path) or os.listdir(path + "/memory"):
            broken(f"it sees {path}")
output()
""", _OK),
    HostileProgram("devices", r"""
allowed = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "console"}
for folder, _, files in os.walk("/dev"):
    for name in files:
        path = f"{folder}/{name}"
        if os.path.islink(path) or folder != "/dev" or name in allowed:
            continue
        if not stat.S_ISREG(os.stat(path).st_mode):
            broken(f"it sees {path}")
output()
""", _OK),
    HostileProgram("setuid-programs", r"""
if "NoNewPrivs:\t1" not in open("/proc/self/status").read():
    broken("programs may gain rights")
if "CapBnd:\t0000000000000000" not in open("/proc/self/status").read():
    broken("there are capabilities to gain")
for action in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0])):
    refused("it changed its user", action)
for folder in ("/usr/bin", "/usr/sbin", "/usr/local/bin"):
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        path = f"{folder}/{name}"
        with contextlib.suppress(OSError):
            if os.stat(path).st_mode & stat.S_ISUID and not os.statvfs(path).f_flag & os.ST_NOSUID:
                broken(f"{path} is setuid")
output()
""", _OK),
    HostileProgram("host-name", r"""
if os.uname().nodename == facts["host"]:
    broken("it sees the name of the machine")
refused("it renamed the machine", socket.sethostname, "x")
output()
""", _OK),
    HostileProgram("change-program", r"""
for path in ("/program/main.py", "/input/facts.json", "/usr/bin/env", "/etc/passwd"):
    refused(f"it opened {path}", os.open, path, os.O_WRONLY)
    refused(f"it changed {path}", os.chmod, path, 0o777)
    refused(f"it removed {path}", os.unlink, path)
for folder in ("/program", "/input", "/usr"):
    refused(f"it wrote to {folder}", os.open, folder + "/x", os.O_CREAT | os.O_WRONLY)
output()
""", _OK),
    HostileProgram("terminal", r"""
refused("it opened /dev/tty", os.open, "/dev/tty", os.O_RDWR)
for number in range(3):
    for request in (0x5412, 0x541C, 0x100005412):
        with contextlib.suppress(OSError):
            if libc.ioctl(number, ctypes.c_ulong(request), ctypes.c_char_p(b"x")) == 0:
                broken("it typed into a terminal")
output()
""", _OK),
    HostileProgram("control-groups", r"""
for line in open("/proc/self/cgroup"):
    path = line.rstrip("\n").split(":", 2)[2]
    if "arena-run" in path:
        broken("it sees its control group")
if libc.mount(b"x", b"/tmp", b"cgroup2", 0, 0) == 0:
    broken("it mounted the control groups")
output()
""", _OK),
)  # fmt: skip

PROGRAMS = (*_RESOURCES, *_ENDS, *_OUTPUTS, *_REACH)
