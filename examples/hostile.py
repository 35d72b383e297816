# What a bad day looks like, and what is left of it:
#   ./caisson run --timeout 20s examples/hostile.py
# It tries each of these and says what happened. Run it nowhere but in a sandbox.
import os
import socket
import sys

if os.uname().nodename != "sandbox":
    sys.exit("This is not a sandbox: I will not run here.")


def attempt(what, action):
    try:
        outcome = action()
    except (OSError, MemoryError) as error:
        outcome = f"stopped: {type(error).__name__}: {error}"
    print(f"{what:<34} {outcome}", flush=True)


def read_secrets():
    found = [p for p in ("/root/.ssh", "/home/" + os.environ.get("SUDO_USER", "user"), "/etc/shadow") if os.path.exists(p)]
    return f"found {found}" if found else "stopped: there are none here"


def phone_home():
    socket.create_connection(("192.0.2.1", 443), timeout=2)
    return "connected"


def fork_bomb():
    children = []
    try:
        while len(children) < 100_000:
            child = os.fork()
            if child == 0:
                os.close(release)
                os.read(hold, 1)
                os._exit(0)
            children.append(child)
    except OSError as error:
        return f"stopped after {len(children)} processes: {error.strerror}"
    finally:
        os.close(release)
        for child in children:
            os.waitpid(child, 0)
    return f"made {len(children)} processes"


def fill_disk():
    written = 0
    block = bytes(16 * 1024 * 1024)
    try:
        with open("big", "wb", buffering=0) as file:
            while written < 1 << 40:
                written += file.write(block)
    except OSError as error:
        return f"stopped after {written // (1024 * 1024)} MiB: {error.strerror}"
    finally:
        os.unlink("big")
    return "filled a tebibyte"


def overwrite_system():
    with open("/usr/bin/env", "wb"):
        return "opened /usr/bin/env for writing"


hold, release = os.pipe()
attempt("read the secrets of the host", read_secrets)
attempt("connect to the internet", phone_home)
attempt("overwrite a program of the host", overwrite_system)
attempt("kill process 1", lambda: os.kill(1, 9) or "sent")
attempt("start processes without end", fork_bomb)
attempt("fill the disk", fill_disk)
print("and now take all the memory", flush=True)
hoard = []
while True:
    hoard.append(bytearray(os.urandom(1024)) * (16 * 1024))
