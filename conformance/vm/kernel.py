"""Gets Debian's cloud kernel, its modules and a static busybox by apt, once, into the cache folder."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

KERNEL_PACKAGE = "linux-image-cloud-amd64"
BUSYBOX_PACKAGE = "busybox-static"


class Unavailable(Exception):
    """Something the VM is made of cannot be had on this machine: the run is skipped, not failed."""


class NoModule(Exception):
    """The kernel has no module of that name."""


class Kernel:
    """A kernel image, the folder of its modules, and a static busybox."""

    def __init__(self, folder):
        self.image = next(folder.glob("boot/vmlinuz-*"))
        self.version = self.image.name.removeprefix("vmlinuz-")
        self.busybox = next(path for path in (folder / "bin/busybox", folder / "usr/bin/busybox") if path.exists())
        modules = next(path for path in (folder / "lib/modules", folder / "usr/lib/modules") if path.exists())
        self._files = {_module_name(path): path for path in modules.rglob("*.ko*")}
        self._builtin = {_module_name(Path(line)) for line in next(modules.glob("*/modules.builtin")).read_text().split()}

    def modules(self, names):
        """The named modules with all they need, as (file name, bytes) in the order of loading; built-in ones are left out."""
        ordered = {}
        for name in names:
            self._add_module(name.replace("-", "_"), ordered)
        return list(ordered.values())

    def _add_module(self, name, ordered):
        if name in self._builtin or name in ordered:
            return
        if name not in self._files:
            raise NoModule(f"kernel {self.version} has no module {name}")
        content = _uncompressed(self._files[name])
        depends = re.search(rb"\0depends=([^\0]*)\0", content)
        for needed in depends.group(1).decode().split(",") if depends else []:
            if needed:
                self._add_module(needed.replace("-", "_"), ordered)
        ordered[name] = (name + ".ko", content)


def cached(cache):
    """The kernel in the cache folder; fetched when it is not there. To get a newer one, remove the folder."""
    folder = cache / "kernel"
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix="fetch-") as scratch:
            _fetch(Path(scratch))
            try:
                os.rename(Path(scratch) / "root", folder)
            except OSError:  # another run was faster
                if not folder.exists():
                    raise
    return Kernel(folder)


def _fetch(scratch):
    for tool in "apt-get", "apt-cache", "dpkg-deb":
        if not shutil.which(tool):
            raise Unavailable(f"{tool} is not installed, so Debian's kernel package cannot be had")
    image = _image_package()
    if image is None and os.geteuid() == 0:
        subprocess.run(["apt-get", "update", "-qq"], capture_output=True)
        image = _image_package()
    if image is None:
        raise Unavailable(f"apt knows no package {KERNEL_PACKAGE} (not Debian, or its lists are empty: apt-get update)")
    download = ["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", image, BUSYBOX_PACKAGE]
    done = subprocess.run(download, cwd=scratch, capture_output=True, text=True)
    if done.returncode != 0 and os.geteuid() == 0:  # lists older than the archive
        subprocess.run(["apt-get", "update", "-qq"], capture_output=True)
        done = subprocess.run(download, cwd=scratch, capture_output=True, text=True)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise Unavailable(f"apt could not download {image} and {BUSYBOX_PACKAGE}: {reason}")
    for package in scratch.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, scratch / "root"], check=True)
    os.chmod(scratch / "root", 0o755)


def _image_package():
    """The package behind the meta-package, such as linux-image-6.1.0-57-cloud-amd64."""
    shown = subprocess.run(["apt-cache", "depends", "--important", KERNEL_PACKAGE], capture_output=True, text=True)
    found = re.search(r"Depends: (linux-image-\S+)", shown.stdout)
    return found.group(1) if found else None


def _module_name(path):
    return path.name.split(".ko")[0].replace("-", "_")


def _uncompressed(path):
    if path.suffix == ".xz":
        import lzma

        return lzma.decompress(path.read_bytes())
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-dcq", path], check=True, capture_output=True).stdout
    return path.read_bytes()
