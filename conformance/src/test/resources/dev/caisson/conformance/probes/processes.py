# Attacks the processes whose pids are the arguments in every way that one process has with another, and prints
# a line for each: pid, way and outcome, "got" when it succeeded and else the errno. "child" stands for a process of its own.
import ctypes
import errno
import os
import signal
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
PAGE = ctypes.create_string_buffer(4096)


class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def call(number, *arguments):
    ctypes.set_errno(0)
    got = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    if got < 0:
        raise OSError(ctypes.get_errno(), "")
    return got


def memory(number):
    def attempt(pid):
        local, remote = Iovec(ctypes.addressof(PAGE), 16), Iovec(ctypes.addressof(PAGE), 16)
        call(number, pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
    return attempt


def trace(request):
    def attempt(pid):
        call(101, request, pid, 0, 0)
        os.waitpid(pid, 0x40000000) if request == 16 else None
        call(101, 17, pid, 0, 0) if request == 16 else None
    return attempt


def descriptor(pid):
    handle = call(434, pid, 0)
    for number in range(32):
        try:
            os.close(call(438, handle, number, 0))
            return
        except OSError as error:
            last = error
    raise last


def file(name, flags=os.O_RDONLY):
    def attempt(pid):
        handle = os.open(f"/proc/{pid}/{name}", flags)
        if flags == os.O_RDONLY:
            os.read(handle, 1)
        os.close(handle)
    return attempt


WAYS = {
    "stat": lambda pid: os.stat(f"/proc/{pid}"),
    "status": file("status"), "cmdline": file("cmdline"), "comm": file("comm"), "environ": file("environ"),
    "maps": file("maps"), "auxv": file("auxv"), "syscall": file("syscall"), "stack": file("wchan"),
    "mountinfo": file("mountinfo"), "mem_read": file("mem", os.O_RDWR), "clear_refs": file("clear_refs", os.O_WRONLY),
    "comm_write": file("comm", os.O_WRONLY), "oom_adj": file("oom_score_adj", os.O_WRONLY),
    "fd": lambda pid: os.listdir(f"/proc/{pid}/fd"), "task": lambda pid: os.listdir(f"/proc/{pid}/task"),
    "exe": lambda pid: os.readlink(f"/proc/{pid}/exe"), "exe_open": file("exe"),
    "root": lambda pid: os.listdir(f"/proc/{pid}/root/"), "cwd": lambda pid: os.listdir(f"/proc/{pid}/cwd/"),
    "ns": lambda pid: os.readlink(f"/proc/{pid}/ns/user"), "map_files": lambda pid: os.listdir(f"/proc/{pid}/map_files"),
    "ptrace_seize": trace(0x4206), "ptrace_attach": trace(16), "readv": memory(310), "writev": memory(311),
    "pidfd_getfd": descriptor,
    "pidfd_signal": lambda pid: call(424, call(434, pid, 0), 0, 0, 0),
    "kill_0": lambda pid: os.kill(pid, 0), "robust_list": lambda pid: call(
        274, pid, ctypes.byref(ctypes.c_void_p()), ctypes.byref(ctypes.c_size_t())),
    "prlimit": lambda pid: call(302, pid, 7, 0, ctypes.byref(PAGE)),
    "nice": lambda pid: os.setpriority(os.PRIO_PROCESS, pid, 19),
    "affinity": lambda pid: os.sched_setaffinity(pid, os.sched_getaffinity(0)),
    "scheduler": lambda pid: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)),
    "ioprio": lambda pid: call(251, 1, pid, 3 << 13), "setpgid": lambda pid: os.setpgid(pid, pid),
    "kill_stop": lambda pid: os.kill(pid, signal.SIGSTOP), "kill": lambda pid: os.kill(pid, signal.SIGKILL),
}

for target in sys.argv[1:]:
    for way, attempt in WAYS.items():
        # Each in a process of its own: a traced target belongs to its tracer.
        pid = int(target) if target != "child" else os.fork() or time.sleep(20) or os._exit(0)
        reading, writing = os.pipe()
        attacker = os.fork() if target != "child" else 0
        if attacker == 0:
            try:
                attempt(pid)
                outcome = "got"
            except OSError as error:
                outcome = errno.errorcode.get(error.errno, str(error.errno))
            os.write(writing, outcome.encode())
            if target != "child":
                os._exit(0)
        print(f"{target}:{way}", os.read(reading, 64).decode(), flush=True)
        if target == "child":
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid if target == "child" else attacker, 0)
