//! The writable layer of a sandbox: capped in bytes and inodes, and its files never count as memory. A folder with a project
//! quota where the state folder has those (`project.rs`); else, and where the rate of block I/O is limited, which takes a
//! device, an ext4 image of a fixed size and inode count on a loop device.
//!
//! A blank image is made once per size (`blank.rs`). Each sandbox gets a copy in an unnamed file,
//! attached with autoclear and mounted detached: when the last descriptor goes, mount, device and file go with it,
//! also after a SIGKILL. A few mounted copies of the usual size are kept ready; each is used once.

use crate::blank::Blanks;
use crate::error::{Doing, Error, Result};
use crate::project::{Folder, Projects};
use crate::store::{allocated, unnamed};
use crate::sys;
use crate::upgrade::{LauncherState, Legacy};
use caisson_wire::launcher as wire;
use rustix::fs::{Mode, OFlags};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

const LOOP_CTL_GET_FREE: u64 = 0x4C82;
const LOOP_CONFIGURE: u64 = 0x4C0A;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
/// Smallest and largest disk, in bytes.
pub const SIZES: std::ops::RangeInclusive<u64> = 4 << 20..=1 << 40;
/// Free bytes that the disk of the state folder must keep.
const KEEP_FREE: u64 = 512 << 20;
/// How `mke2fs` makes a sandbox's disk, which never outlives a crash of the machine.
pub const OPTIONS: [&str; 4] = [
    "-O",
    "^has_journal,^resize_inode,^metadata_csum,uninit_bg,sparse_super2,^64bit,^orphan_file",
    "-E",
    "lazy_itable_init=1,packed_meta_blocks=1,num_backup_sb=0,nodiscard,root_owner=0:0",
];
/// Mounted copies of the last used shape that are kept ready.
const STOCK: usize = 6;

/// Size and inode count of a disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Bytes of the image.
    pub bytes: u64,
    /// Inodes.
    pub inodes: u64,
}

/// A mounted disk, not attached anywhere.
pub struct Disk {
    /// The detached mount; its root holds `u` (upper) and `w` (work).
    pub mount: OwnedFd,
    /// `major:minor` of the loop device; `None` when it is a folder.
    pub device: Option<String>,
    /// The image behind the device.
    pub image: Option<OwnedFd>,
    /// What it was made with.
    pub shape: Shape,
    /// The folder, when it is one, with its owners as seen inside.
    pub folder: Option<Folder>,
}

/// Which disk is wanted.
pub struct Wanted<'a> {
    /// The sandbox's id.
    pub name: &'a str,
    /// First host id of the sandbox.
    pub uid_base: u32,
    /// Size and inodes.
    pub shape: Shape,
    /// Block I/O is to be limited.
    pub needs_device: bool,
}

impl Disk {
    /// Bytes and inodes in use, or `None` when the file system does not answer.
    pub fn used(&self) -> Option<(u64, u64)> {
        let stat = rustix::fs::fstatvfs(&self.mount).ok()?;
        Some((stat.f_blocks.saturating_sub(stat.f_bfree) * stat.f_frsize, stat.f_files.saturating_sub(stat.f_ffree)))
    }

    /// Removes it; false when something of it is left. The last reference to an image takes mount, device and file along.
    pub fn clear(self) -> bool {
        drop(self.mount);
        drop(self.image);
        self.folder.is_none_or(|folder| folder.remove().is_ok())
    }
}

#[repr(C)]
struct LoopInfo64 {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    sizelimit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo64,
    reserved: [u64; 8],
}

/// Makes disks.
#[derive(Clone)]
pub struct Maker {
    folder: PathBuf,
    blanks: Blanks,
}

impl Maker {
    /// Keeps blanks in `state/disk`.
    pub fn new(state: &Path) -> Result<Self> {
        let folder = state.join("disk");
        std::fs::create_dir_all(&folder).doing(|| format!("make {}", folder.display()))?;
        Ok(Self { blanks: Blanks::new(&folder), folder })
    }

    /// A fresh disk. It waits for `mke2fs` when it is the first of its shape.
    pub fn make(&self, shape: Shape) -> Result<Disk> {
        self.start_with(&self.blanks.get(shape)?, shape, None)
    }

    /// A fresh disk when there is a blank of that shape.
    fn make_at_once(&self, shape: Shape) -> Result<Option<Disk>> {
        self.blanks.find(shape)?.map(|blank| self.start_with(&blank, shape, None)).transpose()
    }

    /// A disk that begins as a copy of this image, where the host has room for it. Grown when more bytes are wanted.
    pub fn copy_of(&self, from: &OwnedFd, shape: Shape) -> Result<Disk> {
        self.start_with(from, shape, Some(&self.folder))
    }

    fn start_with(&self, from: &OwnedFd, shape: Shape, room: Option<&Path>) -> Result<Disk> {
        let image = unnamed(&self.folder).doing(|| format!("make a file in {}", self.folder.display()))?;
        copy_sparse(from, &image, room)?;
        let grown = grow(&image, shape.bytes)?;
        let (mount, device) = mount_image(&image, false, false)?;
        if grown {
            check_inodes(&mount, shape)?;
        }
        Ok(Disk { mount, device: Some(device), image: Some(image), shape, folder: None })
    }
}

/// Refuses when the disk of `folder` would be left with less room than must stay, after so many bytes more.
pub fn spare(folder: &Path, bytes: u64) -> Result<()> {
    let stat = rustix::fs::statvfs(folder).doing(|| "ask for free disk".into())?;
    let free = stat.f_bavail * stat.f_frsize;
    if free >= KEEP_FREE.saturating_add(bytes) {
        return Ok(());
    }
    let more = if bytes > 0 { format!(" after the {} MiB that are needed", bytes >> 20) } else { String::new() };
    Err(Error::new(
        wire::ErrorKind::ErrorNoCapacity,
        format!("the host's disk has {} MiB free, below the {} MiB that must stay{more}", free >> 20, KEEP_FREE >> 20),
    )
    .remedy("make room on the disk of the state folder"))
}

/// Copies what is allocated of an image into an empty file; shares it where the file system can. Where it cannot, the disk
/// of `room` must have room for it.
pub fn copy_sparse(from: &OwnedFd, to: &OwnedFd, room: Option<&Path>) -> Result<()> {
    if rustix::fs::ioctl_ficlone(to, from).is_ok() {
        return Ok(());
    }
    room.map_or(Ok(()), |folder| spare(folder, allocated(from)))?;
    copy_data(from, to).doing(|| "copy the image of a disk".into())
}

/// Copies the bytes of a file into an empty one; holes stay holes.
pub fn copy_data(from: &OwnedFd, to: &OwnedFd) -> io::Result<()> {
    let size = rustix::fs::fstat(from)?.st_size as u64;
    rustix::fs::ftruncate(to, size)?;
    let mut at = 0;
    while at < size {
        let start = match rustix::fs::seek(from, rustix::fs::SeekFrom::Data(at)) {
            Err(rustix::io::Errno::NXIO) => break,
            other => other?,
        };
        let end = rustix::fs::seek(from, rustix::fs::SeekFrom::Hole(start))?;
        copy_range(from.as_fd(), to.as_fd(), start, end)?;
        at = end;
    }
    Ok(())
}

/// Makes the file system of an image larger; false when it is large enough.
fn grow(image: &OwnedFd, bytes: u64) -> Result<bool> {
    let size = rustix::fs::fstat(image).doing(|| "ask for the size of an image".into())?.st_size as u64;
    if bytes <= size {
        return Ok(false);
    }
    check(image, "-y")?;
    rustix::fs::ftruncate(image, bytes).doing(|| "make an image larger".into())?;
    let output = Command::new("/usr/sbin/resize2fs")
        .env_clear()
        .arg("-f")
        .arg(path_of(image))
        .output()
        .doing(|| "run resize2fs".into())
        .map_err(|e| e.remedy("install e2fsprogs"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.trim().lines().last().unwrap_or_default().to_string();
        return Err(Error::new(wire::ErrorKind::ErrorSetup, format!("resize2fs could not make a disk larger: {last}")));
    }
    Ok(true)
}

/// A file system gets inodes with each part by which it grows.
fn check_inodes(mount: &OwnedFd, shape: Shape) -> Result<()> {
    let inodes = rustix::fs::fstatvfs(mount).doing(|| "ask for the inodes of a disk".into())?.f_files;
    if inodes <= shape.inodes {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "a disk of {} bytes that grew from a snapshot has {inodes} inodes: ask for that many",
        shape.bytes
    )))
}

/// Mounts an image detached, on a loop device of its own that goes with the mount; with the device's `major:minor`.
pub fn mount_image(image: &OwnedFd, read_only: bool, durable: bool) -> Result<(OwnedFd, String)> {
    let (device, number) = attach_loop(image).doing(|| "attach a loop device".into()).map_err(|e| {
        e.remedy("the loop module must be loaded and /dev/loop-control present; in a container grant /dev/loop*")
    })?;
    let source = std::ffi::CString::new(format!("/dev/loop{number}")).unwrap_or_default();
    let mut fs = sys::NewFs::open(c"ext4").and_then(|fs| fs.set(c"source", &source));
    let flags = [(true, c"noinit_itable"), (!durable, c"nobarrier"), (read_only, c"ro")];
    for (_, flag) in flags.into_iter().filter(|(wanted, _)| *wanted) {
        fs = fs.and_then(|fs| fs.flag(flag));
    }
    let attrs = sys::ATTR_NOSUID | sys::ATTR_NODEV | if read_only { sys::ATTR_RDONLY } else { 0 };
    let mount = fs.and_then(|fs| fs.mount(attrs)).doing(|| format!("mount /dev/loop{number} as ext4"))?;
    // The mount keeps the device open; ours may go.
    drop(device);
    Ok((mount, format!("7:{number}")))
}

/// Writes out all that belongs to the file system behind a mount.
pub fn sync(mount: &OwnedFd) -> io::Result<()> {
    // The descriptor of a mount is none to work with.
    let root = rustix::fs::openat(mount, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    Ok(rustix::fs::syncfs(root)?)
}

/// Gives the blocks of what was removed back to the image, and with them what was in it.
pub fn trim(mount: &OwnedFd) -> io::Result<()> {
    const FITRIM: u64 = 0xc018_5879;
    let root = rustix::fs::openat(mount, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    // struct fstrim_range of linux/fs.h: start, length, shortest run.
    let mut range = [0u64, u64::MAX, 0];
    // SAFETY: three u64 have the layout of struct fstrim_range.
    unsafe { sys::ioctl_struct(root.as_fd(), FITRIM, &mut range) }
}

/// The path of an open file for the programs that we start.
pub(crate) fn path_of(file: &OwnedFd) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}

/// Checks and repairs the ext4 of an image: `-p` what is safe, `-y` everything, looked at in any case.
pub fn check(image: &OwnedFd, how: &str) -> Result<()> {
    let args: &[&str] = if how == "-y" { &["-f", "-y"] } else { &[how] };
    let output = Command::new("/usr/sbin/e2fsck")
        .env_clear()
        .args(args)
        .arg(path_of(image))
        .output()
        .doing(|| "run e2fsck".into())
        .map_err(|e| e.remedy("install e2fsprogs"))?;
    // 1: repaired; 2: a root file system would want a reboot.
    match output.status.code() {
        Some(0..=3) => Ok(()),
        _ => {
            let said = String::from_utf8_lossy(&output.stdout)
                .trim()
                .chars()
                .filter(|c| !c.is_control())
                .take(300)
                .collect::<String>();
            Err(Error::new(wire::ErrorKind::ErrorSetup, format!("e2fsck could not repair it: {said}")))
        }
    }
}

fn copy_range(from: BorrowedFd<'_>, to: BorrowedFd<'_>, start: u64, end: u64) -> io::Result<()> {
    let mut buffer = vec![0u8; ((end - start) as usize).min(1 << 20)];
    let mut at = start;
    while at < end {
        let want = buffer.len().min((end - at) as usize);
        let got = rustix::io::pread(from, &mut buffer[..want], at)?;
        if got == 0 {
            break;
        }
        rustix::io::pwrite(to, &buffer[..got], at)?;
        at += got as u64;
    }
    Ok(())
}

/// Makes a file system in an empty file.
pub fn mkfs(shape: Shape, image: &OwnedFd, options: &[&str]) -> Result<()> {
    rustix::fs::ftruncate(image, shape.bytes).doing(|| "size an image".into())?;
    mke2fs(shape, Path::new(&path_of(image)), options, None)
}

pub(crate) fn mke2fs(shape: Shape, image: &Path, options: &[&str], tree: Option<&Path>) -> Result<()> {
    let mut command = Command::new("/usr/sbin/mke2fs");
    command
        .env_clear()
        .args(["-q", "-F", "-t", "ext4", "-b", "4096", "-m", "0", "-I", "256", "-N", &shape.inodes.to_string()])
        .args(options);
    if let Some(tree) = tree {
        command.arg("-d").arg(tree);
    }
    let output =
        command.arg(image).output().doing(|| "run mke2fs".into()).map_err(|e| e.remedy("install e2fsprogs"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_string();
    Err(Error::new(
        wire::ErrorKind::ErrorSetup,
        format!("mke2fs could not make a disk of {} bytes with {} inodes: {said}", shape.bytes, shape.inodes),
    ))
}

fn attach_loop(image: &OwnedFd) -> io::Result<(OwnedFd, i32)> {
    let control = rustix::fs::open("/dev/loop-control", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    for _ in 0..64 {
        let number = sys::ioctl_value(control.as_fd(), LOOP_CTL_GET_FREE, 0)?;
        let device = open_loop(number)?;
        // SAFETY: all-zero is a valid LoopConfig.
        let mut config: LoopConfig = unsafe { std::mem::zeroed() };
        config.fd = image.as_raw_fd() as u32;
        config.block_size = 4096;
        config.info.flags = LO_FLAGS_AUTOCLEAR;
        // SAFETY: LoopConfig has the layout of struct loop_config in linux/loop.h.
        match unsafe { sys::ioctl_struct(device.as_fd(), LOOP_CONFIGURE, &mut config) } {
            Ok(()) => return Ok((device, number)),
            // Another process was faster with this device.
            Err(e) if e.raw_os_error() == Some(libc::EBUSY) => {}
            Err(e) => return Err(e),
        }
    }
    Err(io::Error::from_raw_os_error(libc::EBUSY))
}

fn open_loop(number: i32) -> io::Result<OwnedFd> {
    let path = format!("/dev/loop{number}");
    let open = || rustix::fs::open(&path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
    match open() {
        Err(rustix::io::Errno::NOENT) => {
            // No devtmpfs that makes the node for us.
            let device = rustix::fs::makedev(7, number as u32);
            let _ = rustix::fs::mknodat(
                rustix::fs::CWD,
                &path,
                rustix::fs::FileType::BlockDevice,
                Mode::RUSR | Mode::WUSR,
                device,
            );
            Ok(open()?)
        }
        other => Ok(other?),
    }
}

/// Gives out disks. Of images some are kept mounted; a thread of its own makes them.
pub struct Stock {
    projects: Option<Projects>,
    ready: Receiver<Disk>,
    wanted: Sender<Shape>,
    maker: Maker,
    thread: Option<JoinHandle<()>>,
}

impl Stock {
    /// Where images are needed, starts the thread; the first ones are of `shape`.
    pub fn start(state: &Path, shape: Shape) -> Result<Self> {
        Self::start_with(state, shape, Projects::open(state)?, true)
    }

    /// Goes on with the folders of the launcher before.
    pub fn resume(state: &Path, shape: Shape, legacy: &mut Legacy) -> Result<Self> {
        // A full disk or a missing tool is no reason to let the sandboxes go: the next one is told.
        Self::start_with(state, shape, Projects::resume(legacy)?, false)
    }

    fn start_with(state: &Path, shape: Shape, projects: Option<Projects>, first: bool) -> Result<Self> {
        let maker = Maker::new(state)?;
        let (give, ready) = sync_channel(STOCK - 1);
        let (wanted, shapes) = channel();
        let mut thread = None;
        if projects.is_none() {
            // So that a missing tool or module is said at the start, not at the first sandbox.
            if first {
                let _ = give.send(maker.make(shape)?);
            }
            let own = maker.clone();
            let fill = std::thread::Builder::new()
                .name("disk-stock".into())
                .spawn(move || fill(&own, shape, &shapes, &give))
                .doing(|| "start a thread".into())?;
            thread = Some(fill);
        }
        Ok(Self { projects, ready, wanted, maker, thread })
    }

    /// Gives up what is kept ready and ends the thread.
    pub fn halt(&mut self) {
        self.ready = sync_channel(1).1;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    /// Names the folders for the launcher that comes after.
    pub fn hand_on(&self, state: &mut LauncherState) {
        if let Some(projects) = &self.projects {
            projects.hand_on(state);
        }
    }

    /// The disk of a sandbox that lives already, where it is a folder.
    pub fn living(&self, name: &str) -> Result<Folder> {
        let none = || Error::invalid("the launcher before had no folders");
        self.projects.as_ref().ok_or_else(none)?.living(name)
    }

    /// What makes images, for another thread.
    pub fn maker(&self) -> Maker {
        self.maker.clone()
    }

    /// A disk as wanted: a folder, an image from the stock when one fits, else one made now. `None` when there is no blank of
    /// its shape yet: then `maker` is to make it on another thread.
    pub fn take(&self, wanted: &Wanted<'_>) -> Result<Option<Disk>> {
        let shape = wanted.shape;
        if let Some(projects) = self.projects.as_ref().filter(|_| !wanted.needs_device) {
            let made =
                projects.make(wanted.name, wanted.uid_base, shape).doing(|| "make a folder with a quota".into())?;
            if let Some((mount, folder)) = made {
                return Ok(Some(Disk { mount, device: None, image: None, shape, folder: Some(folder) }));
            }
        }
        while let Ok(disk) = self.ready.try_recv() {
            if disk.shape == shape {
                return Ok(Some(disk));
            }
            let _ = self.wanted.send(shape);
        }
        self.maker.make_at_once(shape)
    }
}

fn fill(maker: &Maker, mut shape: Shape, shapes: &Receiver<Shape>, give: &SyncSender<Disk>) {
    loop {
        while let Ok(newer) = shapes.try_recv() {
            shape = newer;
        }
        match maker.make(shape) {
            Ok(disk) => {
                if give.send(disk).is_err() {
                    return;
                }
            }
            // The next `take` meets the same error and reports it.
            Err(_) => std::thread::sleep(std::time::Duration::from_millis(200)),
        }
    }
}
