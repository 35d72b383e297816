"""The files of the VM, as a cpio archive that the kernel unpacks: a merged-/usr tree owned by root."""

import os
import re
import shlex
import shutil
import stat
import subprocess
from pathlib import Path

FOLDERS = "dev proc sys run tmp root home mnt var/lib etc usr/bin usr/sbin usr/lib usr/lib64 usr/lib/caisson-vm/modules".split()
MERGED = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}
# Host programs that come along where they are installed; they go before busybox's namesakes.
HOST_PROGRAMS = "mke2fs mkfs.ext4 tune2fs dumpe2fs e2fsck resize2fs debugfs mkfs.xfs".split()
SEARCH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ETC = {
    "passwd": "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/home:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
    "group": "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "hostname": "caisson-vm\n",
    "os-release": "ID=caisson-vm\nNAME=\"Caisson test VM\"\n",
}


class Initramfs:
    """A tree under construction; paths are relative to its root, without a leading slash."""

    def __init__(self):
        self._entries = {}
        for folder in FOLDERS:
            self.folder(folder)
        for link, target in MERGED.items():
            self.link(link, target)
        self._put("tmp", stat.S_IFDIR | 0o1777, b"")
        self._put("dev/console", stat.S_IFCHR | 0o600, b"", device=(5, 1))
        for name, text in ETC.items():
            self.file("etc/" + name, text.encode())

    def folder(self, path):
        path = self._resolved(path)
        if path and path not in self._entries:
            self._put(path, stat.S_IFDIR | 0o755, b"")

    def link(self, path, target):
        self._put(self._resolved(path), stat.S_IFLNK | 0o777, target.encode())

    def file(self, path, content, mode=0o644):
        self._put(self._resolved(path), stat.S_IFREG | mode, content)

    def add_busybox(self, program):
        self.file("usr/bin/busybox", program.read_bytes(), 0o755)
        listed = subprocess.run([program, "--list"], check=True, capture_output=True, text=True)
        for applet in listed.stdout.split():
            if applet != "busybox":
                self.link("usr/bin/" + applet, "busybox")

    def add_host_programs(self):
        for name in HOST_PROGRAMS:
            found = shutil.which(name, path=SEARCH)
            if found:
                self._entries.pop("usr/bin/" + name, None)
                self.add(Path(found), "usr/sbin/" + name)
        if Path("/etc/mke2fs.conf").exists():
            self.file("etc/mke2fs.conf", Path("/etc/mke2fs.conf").read_bytes())

    def add_modules(self, modules):
        for number, (name, content) in enumerate(modules):
            self.file(f"usr/lib/caisson-vm/modules/{number:02}-{name}", content)

    def add_command(self, command, environment):
        lines = ["#!/bin/sh", *(f"export {key}={shlex.quote(value)}" for key, value in environment), "exec " + shlex.join(command)]
        self.file("usr/lib/caisson-vm/command", ("\n".join(lines) + "\n").encode(), 0o755)

    def add(self, host, inside):
        """Copies a file or folder of the host, and the shared libraries of every dynamic program in it."""
        inside = str(inside).strip("/")
        if host.is_dir():
            self.folder(inside)
            for child in sorted(host.iterdir()):
                if child.is_symlink():
                    self.link(f"{inside}/{child.name}", os.readlink(child))
                else:
                    self.add(child, f"{inside}/{child.name}")
            return
        content = host.read_bytes()
        self.file(inside, content, stat.S_IMODE(host.stat().st_mode))
        if content.startswith(b"\x7fELF"):
            self._add_libraries(host)

    def archive(self):
        """The tree in the "newc" form of cpio (kernel: Documentation/driver-api/early-userspace/buffer-format.rst)."""
        parts = []
        trailer = ("TRAILER!!!", (0, b"", (0, 0)))
        for number, (path, (mode, content, device)) in enumerate([*self._entries.items(), trailer], 1):
            name = path.encode() + b"\0"
            fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(name), 0)
            header = b"070701" + b"".join(b"%08x" % field for field in fields) + name
            parts += [header, b"\0" * (-len(header) % 4), content, b"\0" * (-len(content) % 4)]
        return b"".join(parts)

    def _add_libraries(self, program):
        listed = subprocess.run(["ldd", program], capture_output=True, text=True)
        if listed.returncode != 0:  # static, or of another architecture
            return
        for library in re.findall(r"(?:=> )?(/\S+) \(0x", listed.stdout):
            if self._resolved(library.strip("/")) not in self._entries:
                self.add(Path(library), library)

    def _resolved(self, path):
        """The path with bin, sbin, lib and lib64 led to their place below usr, and its folders made."""
        path = os.path.normpath(path.strip("/"))
        first, slash, rest = path.partition("/")
        if slash and first in MERGED:
            path = f"{MERGED[first]}/{rest}"
        parent = os.path.dirname(path)
        if parent and parent not in self._entries:
            self.folder(parent)
        return path

    def _put(self, path, mode, content, device=(0, 0)):
        self._entries[path] = (mode, content, device)
