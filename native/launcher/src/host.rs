//! What the launcher prepares once: a mount namespace of its own with just what sandboxes are made of, and the agent as a
//! sealed memfd. Everything a sandbox's first process copies is then small, and nothing else of the host is reachable.

use crate::error::{Doing, Error, Result};
use crate::sys;
use caisson_wire::launcher as wire;
use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags};
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// Read-only skeleton of the `host` template.
pub const SKELETON: &str = "/skel";
/// Folder with the few devices that a sandbox has.
pub const DEVICES: &str = "/devt";
/// Empty mount points on which the first process of a sandbox builds its root: lower, disk, root.
pub const LOWER: &str = "/l";
/// The writable disk.
pub const DISK: &str = "/d";
/// The new root.
pub const ROOT: &str = "/r";

/// Empty folder inside `DEVICES` with which folders are masked.
pub const EMPTY: &str = "empty";

/// Moves the process into its own small mount namespace. `keep` are folders that stay reachable under their own path.
pub fn enter(skeleton: &Path, run: &Path, keep: &[&Path]) -> Result<()> {
    sys::unshare(libc::CLONE_NEWNS).doing(|| "make a mount namespace".into()).map_err(|e| {
        Error { kind: wire::ErrorKind::ErrorNotSupported, ..e }.remedy(
            "run as root with CAP_SYS_ADMIN; in a container grant `--privileged`, or install Caisson on its host",
        )
    })?;
    rustix::mount::mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)
        .doing(|| "make mounts private".into())?;
    let root = run.join("root");
    std::fs::create_dir_all(&root).doing(|| format!("make {}", root.display()))?;
    mount_tmpfs(&root, c"mode=0755,size=1m").doing(|| "mount the launcher's root".into())?;
    for name in ["proc", "dev", "usr", &SKELETON[1..], &DEVICES[1..], &LOWER[1..], &DISK[1..], &ROOT[1..], "tmp"] {
        std::fs::create_dir(root.join(name)).doing(|| format!("make /{name} in the launcher's root"))?;
    }
    for name in ["bin", "sbin", "lib", "lib32", "lib64", "libx32"] {
        if let Ok(target) = std::fs::read_link(Path::new("/").join(name)) {
            std::os::unix::fs::symlink(target, root.join(name)).doing(|| format!("link /{name}"))?;
        }
    }
    let plain = sys::ATTR_NOSUID | sys::ATTR_NODEV;
    bind(Path::new("/proc"), &root.join("proc"), false, 0)?;
    bind(Path::new("/dev"), &root.join("dev"), false, 0)?;
    bind(Path::new("/usr"), &root.join("usr"), true, plain | sys::ATTR_RDONLY)?;
    bind(skeleton, &root.join(&SKELETON[1..]), false, plain | sys::ATTR_RDONLY | sys::ATTR_NOEXEC)?;
    for path in keep {
        let inside = root.join(path.strip_prefix("/").unwrap_or(path));
        std::fs::create_dir_all(&inside).doing(|| format!("make {}", inside.display()))?;
        bind(path, &inside, false, plain | sys::ATTR_NOEXEC)?;
    }
    make_devices(&root.join(&DEVICES[1..])).doing(|| "make the sandboxes' devices".into())?;
    let pivot = || -> io::Result<()> {
        rustix::process::chdir(&root)?;
        rustix::process::pivot_root(".", ".")?;
        rustix::mount::unmount(".", UnmountFlags::DETACH)?;
        Ok(rustix::process::chdir("/")?)
    };
    pivot().doing(|| "enter the launcher's root".into())
}

fn mount_tmpfs(at: &Path, options: &std::ffi::CStr) -> io::Result<()> {
    Ok(rustix::mount::mount("caisson", at, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, options)?)
}

fn bind(from: &Path, to: &Path, recursive: bool, attrs: u64) -> Result<()> {
    let step = || format!("bind {} to {}", from.display(), to.display());
    let flags =
        (libc::OPEN_TREE_CLONE | libc::OPEN_TREE_CLOEXEC) | if recursive { libc::AT_RECURSIVE as u32 } else { 0 };
    let text = |p: &Path| CString::new(p.as_os_str().as_encoded_bytes());
    let tree = sys::open_tree(sys::cwd(), &text(from).doing(step)?, flags).doing(step)?;
    if attrs != 0 {
        sys::mount_setattr(tree.as_fd(), recursive, &sys::MountAttr { set: attrs, ..Default::default() })
            .doing(step)?;
    }
    sys::attach_mount(tree.as_fd(), &text(to).doing(step)?).doing(step)
}

/// null, zero, full, random, urandom and tty; the rest of a sandbox's /dev is made of links and mount points.
fn make_devices(at: &Path) -> io::Result<()> {
    rustix::mount::mount("caisson", at, "tmpfs", MountFlags::NOSUID | MountFlags::NOEXEC, c"mode=0755,size=64k")?;
    for (name, major, minor) in
        [("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9), ("tty", 5, 0)]
    {
        let path = at.join(name);
        let device = rustix::fs::makedev(major, minor);
        rustix::fs::mknodat(
            sys::cwd(),
            &path,
            rustix::fs::FileType::CharacterDevice,
            Mode::from_raw_mode(0o666),
            device,
        )?;
        rustix::fs::chmod(&path, Mode::from_raw_mode(0o666))?;
    }
    for name in ["pts", "shm", "mqueue", EMPTY] {
        std::fs::create_dir(at.join(name))?;
    }
    for (name, target) in [
        ("ptmx", "pts/ptmx"),
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ] {
        std::os::unix::fs::symlink(target, at.join(name))?;
    }
    let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NOEXEC;
    Ok(rustix::mount::mount_remount(at, flags, c"")?)
}

/// Copies the agent into a sealed memfd: nobody can change what runs as process 1, and no host path leads to it.
pub fn seal_agent(path: &Path) -> Result<OwnedFd> {
    let step = || format!("load the agent {}", path.display());
    seal_program(std::fs::File::open(path).doing(step)?, step)
}

/// The same of an open file.
pub fn seal_program(mut file: std::fs::File, step: impl Fn() -> String + Copy) -> Result<OwnedFd> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut file, &mut bytes).doing(step)?;
    let memfd =
        rustix::fs::memfd_create("caisson-agent", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).doing(step)?;
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        let written = rustix::io::write(&memfd, rest).doing(step)?;
        rest = &rest[written..];
    }
    rustix::fs::fchmod(&memfd, Mode::from_raw_mode(0o555)).doing(step)?;
    rustix::fs::fcntl_add_seals(&memfd, SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE)
        .doing(step)?;
    // A descriptor open for writing would make exec fail with ETXTBSY.
    use std::os::fd::AsRawFd;
    let again = format!("/proc/self/fd/{}", memfd.as_raw_fd());
    rustix::fs::open(again, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).doing(step)
}
