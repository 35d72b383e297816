//! Tells what happens in a folder. The kernel's events are always read at once; what the client does not read is dropped
//! beyond a bound and told as an overflow.

use crate::error::Refusal;
use crate::paths::{SafePath, is_kernel_file_system, open_beneath};
use crate::poll::{Poll, Source};
use crate::watch_tree::Tree;
use caisson_wire::agent::{ErrorKind, FileType, Watch, WatchEvent, WatchEvents, WatchKind};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::{FileType as Kind, OFlags, RawDir};
use rustix::io::Errno;
use std::collections::{BTreeSet, VecDeque};
use std::mem::MaybeUninit;
use std::rc::Rc;

/// Watches of one client at once.
pub const MAX_WATCHES: usize = 8;
/// Folders that all of them look at.
pub const MAX_FOLDERS: usize = 10_000;
/// Events, and bytes of their paths, that wait for the client.
const MAX_EVENTS: usize = 1024;
const MAX_BYTES: usize = 64 << 10;
/// Kernel events, and folders scanned, in one turn.
const TURN: usize = 256;
const SCANS: usize = 16;

/// One watch.
pub struct Watcher {
    /// Its number in the set.
    pub number: u64,
    /// The kernel may have events.
    pub readable: bool,
    inotify: Rc<OwnedFd>,
    root: OwnedFd,
    recursive: bool,
    tree: Tree,
    /// Folders that it may look at now, with what the other watches have.
    most: usize,
    /// Folders whose entries are to be looked at; true when these are told as created.
    scans: VecDeque<(i32, bool)>,
    scanning: Option<(OwnedFd, i32, bool)>,
    /// A folder that was renamed away, with the cookie of the rename.
    moved: Option<(u32, i32)>,
    lost: BTreeSet<i32>,
    events: Vec<WatchEvent>,
    bytes: usize,
    overflow: bool,
    /// There are more folders than may be watched.
    crowded: bool,
    /// The client knows that it watches.
    told: bool,
}

impl Watcher {
    /// Watches the folder; those beneath it follow in the next turns.
    pub fn begin(request: &Watch, number: u64, poll: &Poll) -> Result<Self, Refusal> {
        let fail = |errno| Refusal::path("watch", &request.path, errno);
        let root = SafePath::parse(&request.path)?.open(OFlags::RDONLY | OFlags::DIRECTORY)?;
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(fail)?;
        let wd = add(&inotify, &root).map_err(fail)?;
        poll.add(&inotify, Source::Transfer(number)).map_err(fail)?;
        let mut tree = Tree::default();
        tree.set_root(wd);
        let scans = if request.recursive { VecDeque::from([(wd, false)]) } else { VecDeque::new() };
        Ok(Self {
            number,
            readable: true,
            inotify: Rc::new(inotify),
            root,
            recursive: request.recursive,
            tree,
            most: 1,
            scans,
            scanning: None,
            moved: None,
            lost: BTreeSet::new(),
            events: Vec::new(),
            bytes: 0,
            overflow: false,
            crowded: false,
            told: false,
        })
    }

    /// Folders that it looks at.
    pub fn folders(&self) -> usize {
        self.tree.len() + 1
    }

    /// Reads what happened and looks into new folders, of which `room` more may be. True when there is more at once.
    pub fn collect(&mut self, room: usize) -> Result<bool, Refusal> {
        self.most = self.folders() + room;
        if self.readable {
            self.read_events();
        }
        for number in self.tree.prune(&std::mem::take(&mut self.lost)) {
            let _ = inotify::remove_watch(&*self.inotify, number);
        }
        for _ in 0..SCANS {
            if self.scanning.is_none() {
                let Some((number, told)) = self.scans.pop_front() else { break };
                self.scanning = self.open(number).map(|folder| (folder, number, told));
                continue;
            }
            self.scan()?;
        }
        Ok(self.readable || self.scanning.is_some() || !self.scans.is_empty())
    }

    /// What the client is told now.
    pub fn take_events(&mut self) -> Option<WatchEvents> {
        let starting = !self.told && (self.scanning.is_some() || !self.scans.is_empty());
        if starting || self.told && self.events.is_empty() && !self.overflow {
            return None;
        }
        self.bytes = 0;
        // The first answer is empty: it says that nothing is missed from here on.
        let events = if self.told { std::mem::take(&mut self.events) } else { Vec::new() };
        let overflow = self.told && std::mem::take(&mut self.overflow);
        self.told = true;
        Some(WatchEvents { events, overflow })
    }

    fn read_events(&mut self) {
        let mut buffer = [MaybeUninit::uninit(); 16 << 10];
        let mut reader = Reader::new(Rc::clone(&self.inotify), &mut buffer);
        let mut read = 0;
        // What is in the buffer must not be lost with it.
        while read < TURN || !reader.is_buffer_empty() {
            read += 1;
            match reader.next() {
                Ok(event) => {
                    let name = event.file_name().map_or(&b""[..], |name| name.to_bytes());
                    self.on_event(event.wd(), event.events(), event.cookie(), name);
                }
                Err(Errno::INTR) => {}
                // AGAIN, or a buffer that the kernel finds too small, which it is not.
                Err(_) => {
                    self.readable = false;
                    break;
                }
            }
        }
    }

    fn on_event(&mut self, wd: i32, flags: ReadFlags, cookie: u32, name: &[u8]) {
        if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
            self.forget_events();
            if self.recursive {
                // Folders may have been made meanwhile.
                self.rescan_all();
            }
            return;
        }
        if let Some((awaited, folder)) = self.moved.take() {
            // The two halves of a rename follow one another; a folder without the second left the tree.
            if awaited != cookie || !flags.contains(ReadFlags::MOVED_TO) {
                self.lost.insert(folder);
            }
        }
        if flags.contains(ReadFlags::IGNORED) {
            return self.tree.remove(wd);
        }
        let folder = flags.contains(ReadFlags::ISDIR);
        let file_type = if folder { FileType::Directory } else { FileType::Unknown };
        if name.is_empty() {
            // Of a watched folder itself; all but the root are told by the folder that they lie in.
            if self.tree.path(wd, b"").is_some_and(|path| path.is_empty()) {
                if flags.contains(ReadFlags::DELETE_SELF) {
                    self.tell(WatchKind::WatchRemoved, Vec::new(), FileType::Directory);
                } else if flags.contains(ReadFlags::ATTRIB) {
                    self.tell(WatchKind::WatchAttributes, Vec::new(), FileType::Directory);
                }
            }
            return;
        }
        let kinds = [
            (ReadFlags::CREATE | ReadFlags::MOVED_TO, WatchKind::WatchCreated),
            (ReadFlags::MODIFY | ReadFlags::CLOSE_WRITE, WatchKind::WatchWritten),
            (ReadFlags::DELETE, WatchKind::WatchRemoved),
            (ReadFlags::MOVED_FROM, WatchKind::WatchRenamed),
            (ReadFlags::ATTRIB, WatchKind::WatchAttributes),
        ];
        let Some((_, kind)) = kinds.into_iter().find(|(of, _)| flags.intersects(*of)) else { return };
        let Some(path) = self.tree.path(wd, name) else { return };
        if folder && self.recursive {
            match kind {
                WatchKind::WatchCreated => self.enter(wd, name, &path, true),
                WatchKind::WatchRenamed => self.moved = self.tree.find(wd, name).map(|number| (cookie, number)),
                _ => {}
            }
        }
        self.tell(kind, path, file_type);
    }

    /// Watches a folder, and looks into it later: what came into it before is not told by the kernel.
    fn enter(&mut self, parent: i32, name: &[u8], path: &[u8], told: bool) {
        let Ok(folder) = open_beneath(&self.root, path, OFlags::RDONLY | OFlags::DIRECTORY) else { return };
        if is_kernel_file_system(&folder) {
            return;
        }
        if self.folders() >= self.most {
            (self.crowded, self.overflow) = (true, true);
            return;
        }
        let before = self.tree.len();
        let Ok(wd) = add(&self.inotify, &folder) else {
            (self.crowded, self.overflow) = (true, true);
            return;
        };
        self.tree.put(wd, parent, name);
        self.lost.remove(&wd);
        if self.tree.len() > before {
            self.scans.push_back((wd, told));
        }
    }

    fn open(&self, number: i32) -> Option<OwnedFd> {
        let path = self.tree.path(number, b"")?;
        let path = if path.is_empty() { &b"."[..] } else { &path };
        open_beneath(&self.root, path, OFlags::RDONLY | OFlags::DIRECTORY).ok()
    }

    /// Some entries of the folder that is looked into.
    fn scan(&mut self) -> Result<(), Refusal> {
        let Some((folder, number, told)) = self.scanning.take() else { return Ok(()) };
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut entries = RawDir::new(&folder, &mut buffer);
        loop {
            let Some(Ok(entry)) = entries.next() else { return Ok(()) };
            let (name, kind) = (entry.file_name().to_bytes(), entry.file_type());
            let path = if name == b"." || name == b".." { None } else { self.tree.path(number, name) };
            if let Some(path) = path {
                if kind == Kind::Directory {
                    self.enter(number, name, &path, told);
                }
                if told {
                    self.tell(WatchKind::WatchCreated, path, type_of(kind));
                }
            }
            if entries.is_buffer_empty() {
                break;
            }
        }
        if !self.told && self.crowded {
            let message = format!("there are more folders than the {MAX_FOLDERS} that may be watched");
            return Err(Refusal::new(ErrorKind::ErrorLimit, message));
        }
        self.scanning = Some((folder, number, told));
        Ok(())
    }

    /// After lost events: every folder is looked into again. The client was told to look for itself.
    fn rescan_all(&mut self) {
        for number in self.tree.clear() {
            let _ = inotify::remove_watch(&*self.inotify, number);
        }
        self.scanning = None;
        self.scans = VecDeque::from([(self.tree.root(), false)]);
    }

    fn tell(&mut self, kind: WatchKind, path: Vec<u8>, file_type: FileType) {
        let same = |event: &WatchEvent| event.kind == i32::from(kind) && event.path == path;
        if self.events.last().is_some_and(same) {
            return;
        }
        if self.events.len() >= MAX_EVENTS || self.bytes + path.len() > MAX_BYTES {
            self.forget_events();
        }
        self.bytes += path.len();
        self.events.push(WatchEvent { kind: kind.into(), path, r#type: file_type.into() });
    }

    fn forget_events(&mut self) {
        self.events.clear();
        self.bytes = 0;
        self.overflow = true;
    }
}

fn add(inotify: &OwnedFd, folder: &OwnedFd) -> Result<i32, Errno> {
    let flags = WatchFlags::CREATE
        | WatchFlags::MOVED_TO
        | WatchFlags::MOVED_FROM
        | WatchFlags::MODIFY
        | WatchFlags::CLOSE_WRITE
        | WatchFlags::DELETE
        | WatchFlags::DELETE_SELF
        | WatchFlags::ATTRIB
        | WatchFlags::ONLYDIR
        | WatchFlags::EXCL_UNLINK;
    // By descriptor: a path could lead elsewhere by now.
    inotify::add_watch(inotify, format!("/proc/self/fd/{}", folder.as_raw_fd()), flags)
}

fn type_of(kind: Kind) -> FileType {
    match kind {
        Kind::RegularFile => FileType::Regular,
        Kind::Directory => FileType::Directory,
        Kind::Symlink => FileType::Symlink,
        Kind::Fifo => FileType::Fifo,
        Kind::Socket => FileType::Socket,
        Kind::CharacterDevice | Kind::BlockDevice => FileType::Device,
        Kind::Unknown => FileType::Unknown,
    }
}
