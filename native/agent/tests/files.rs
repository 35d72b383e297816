//! Files: whole or not at all, and never through a link.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod harness;

use caisson_wire::agent::{agent_frame::Body, client_frame, file_change::Change, *};
use harness::{Client, USER, World, world};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

fn put_request(path: &[u8]) -> FilePut {
    FilePut { path: path.to_vec(), mode: 0o640, uid: USER, gid: USER, parents: false }
}

fn begin_put(client: &mut Client, put: FilePut) -> u64 {
    let stream = client.stream();
    client.send(stream, client_frame::Body::FilePut(put));
    stream
}

fn send_data(client: &mut Client, stream: u64, data: &[u8], last: bool) {
    client.send(stream, client_frame::Body::FileData(FileData { data: data.to_vec(), last }));
}

fn answer(client: &mut Client, stream: u64) -> Result<u64, ErrorKind> {
    loop {
        match client.read_of(stream).body.unwrap() {
            Body::FileDone(done) => return Ok(done.bytes),
            Body::Error(error) => return Err(error.kind()),
            Body::FileCredit(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

fn put(client: &mut Client, request: FilePut, data: &[u8]) -> Result<u64, ErrorKind> {
    let stream = begin_put(client, request);
    let (mut sent, mut limit) = (0, 1 << 20);
    loop {
        while sent < data.len() && sent < limit {
            let end = (sent + 200_000).min(data.len()).min(limit);
            send_data(client, stream, &data[sent..end], end == data.len());
            sent = end;
        }
        if sent == data.len() {
            if data.is_empty() {
                send_data(client, stream, b"", true);
            }
            return answer(client, stream);
        }
        match client.read_of(stream).body.unwrap() {
            Body::FileCredit(credit) => limit = credit.limit as usize,
            Body::Error(error) => return Err(error.kind()),
            other => panic!("{other:?}"),
        }
    }
}

fn get(client: &mut Client, request: FileGet) -> Result<Vec<u8>, ErrorKind> {
    let stream = client.stream();
    client.send(stream, client_frame::Body::FileGet(request));
    let mut bytes = Vec::new();
    loop {
        match client.read_of(stream).body.unwrap() {
            Body::FileData(data) => {
                client.ack(stream, 0, data.data.len() as u64);
                bytes.extend(data.data);
                if data.last {
                    return Ok(bytes);
                }
            }
            Body::Error(error) => return Err(error.kind()),
            other => panic!("{other:?}"),
        }
    }
}

fn get_request(path: &[u8]) -> FileGet {
    FileGet { path: path.to_vec(), offset: 0, length: 0, credit_bytes: 300_000 }
}

fn list(
    client: &mut Client,
    path: &[u8],
    recursive: bool,
    max: u64,
) -> Result<(Vec<FileEntry>, FileEntries), ErrorKind> {
    let stream = client.stream();
    let request = FileList { path: path.to_vec(), recursive, max_entries: max };
    client.send(stream, client_frame::Body::FileList(request));
    let mut all = Vec::new();
    loop {
        match client.read_of(stream).body.unwrap() {
            Body::FileEntries(mut entries) => {
                all.append(&mut entries.entries);
                if entries.last {
                    return Ok((all, entries));
                }
            }
            Body::Error(error) => return Err(error.kind()),
            other => panic!("{other:?}"),
        }
    }
}

fn change(client: &mut Client, change: Change) -> Result<u64, ErrorKind> {
    let stream = client.stream();
    client.send(stream, client_frame::Body::FileChange(FileChange { change: Some(change) }));
    answer(client, stream)
}

fn names(world: &World) -> Vec<String> {
    std::fs::read_dir(&world.folder).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_file_is_written_with_owner_and_mode_and_read_back() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let data: Vec<u8> = (0..5_000_000u32).map(|i| ((i * 7) >> 3) as u8).collect();
    assert_eq!(put(&mut client, put_request(&world.path("file")), &data), Ok(5_000_000));
    let meta = std::fs::metadata(world.folder.join("file")).unwrap();
    assert_eq!((meta.uid(), meta.gid(), meta.permissions().mode() & 0o7777), (USER, USER, 0o640));
    assert!(get(&mut client, get_request(&world.path("file"))).unwrap() == data);
    let part = FileGet { offset: 1_000_000, length: 10, ..get_request(&world.path("file")) };
    assert_eq!(get(&mut client, part).unwrap(), data[1_000_000..1_000_010]);
    let beyond = FileGet { offset: 9_000_000, ..get_request(&world.path("file")) };
    assert_eq!(get(&mut client, beyond).unwrap(), b"");
}

#[test]
fn a_file_is_replaced_as_a_whole_and_setuid_is_never_set() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let path = world.path("file");
    put(&mut client, put_request(&path), b"old").unwrap();
    let stream = begin_put(&mut client, FilePut { mode: 0o6755, ..put_request(&path) });
    send_data(&mut client, stream, b"new content", false);
    client.sh("true");
    assert_eq!(std::fs::read(world.folder.join("file")).unwrap(), b"old");
    send_data(&mut client, stream, b"", true);
    assert_eq!(answer(&mut client, stream), Ok(11));
    assert_eq!(std::fs::read(world.folder.join("file")).unwrap(), b"new content");
    assert_eq!(std::fs::metadata(world.folder.join("file")).unwrap().mode() & 0o7777, 0o755);
    assert_eq!(names(&world), ["file"]);
}

#[test]
fn an_unfinished_file_leaves_nothing_behind() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let stream = begin_put(&mut client, put_request(&world.path("half")));
    send_data(&mut client, stream, &[1; 100_000], false);
    client.send(stream, client_frame::Body::Cancel(Cancel {}));
    assert_eq!(answer(&mut client, stream), Err(ErrorKind::ErrorCancelled));
    let stream = begin_put(&mut client, put_request(&world.path("half")));
    send_data(&mut client, stream, &[1; 100_000], false);
    client.sh("true");
    drop(client);
    world.client().sh("true");
    assert!(names(&world).is_empty());
}

#[test]
fn parents_are_made_when_asked_for() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let path = world.path("a/b/c");
    assert_eq!(put(&mut client, put_request(&path), b"x"), Err(ErrorKind::ErrorNotFound));
    assert_eq!(put(&mut client, FilePut { parents: true, ..put_request(&path) }, b"x"), Ok(1));
    let meta = std::fs::metadata(world.folder.join("a/b")).unwrap();
    assert_eq!((meta.uid(), meta.mode() & 0o7777), (USER, 0o755));
}

#[test]
fn links_fifos_folders_and_kernel_files_are_refused() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    symlink("/etc/passwd", world.folder.join("link")).unwrap();
    symlink("/etc", world.folder.join("folder-link")).unwrap();
    std::fs::create_dir(world.folder.join("folder")).unwrap();
    let outcome = client.sh(&format!("mkfifo {}/fifo", world.folder.display()));
    assert_eq!(outcome.ended.exit_code, 0);
    for name in ["link", "fifo", "folder"] {
        let path = world.path(name);
        assert_eq!(get(&mut client, get_request(&path)), Err(ErrorKind::ErrorNotRegular), "get {name}");
        assert_eq!(put(&mut client, put_request(&path), b"x"), Err(ErrorKind::ErrorNotRegular), "put {name}");
    }
    let through = world.path("folder-link/passwd");
    assert_eq!(get(&mut client, get_request(&through)), Err(ErrorKind::ErrorNotRegular));
    // To the kernel a link is no folder.
    assert_eq!(put(&mut client, put_request(&through), b"x"), Err(ErrorKind::ErrorNotFound));
    let with_parents = FilePut { parents: true, ..put_request(&through) };
    assert_eq!(put(&mut client, with_parents, b"x"), Err(ErrorKind::ErrorNotFound));
    assert_eq!(list(&mut client, &world.path("folder-link"), false, 0).err(), Some(ErrorKind::ErrorNotFound));
    for path in [&b"/proc/1/environ"[..], b"/sys/kernel/mm", b"/dev/null", b"//proc/self/fd/3"] {
        assert_eq!(get(&mut client, get_request(path)), Err(ErrorKind::ErrorPermission));
        assert_eq!(put(&mut client, put_request(path), b"x"), Err(ErrorKind::ErrorPermission));
    }
    let dots = world.path("folder/../../../etc/passwd");
    assert_eq!(get(&mut client, get_request(&dots)), Err(ErrorKind::ErrorInvalid));
    assert_eq!(get(&mut client, get_request(&world.path("missing"))), Err(ErrorKind::ErrorNotFound));
}

#[test]
fn a_listing_tells_hostile_names_types_and_targets() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let hostile: [&[u8]; 4] = [b"new\nline", b"\xff\xfe", b"-rf", b"\x1b[31m"];
    for name in hostile {
        std::fs::write(world.folder.join(OsStr::from_bytes(name)), name).unwrap();
    }
    std::fs::create_dir_all(world.folder.join("sub/deeper")).unwrap();
    std::fs::write(world.folder.join("sub/deeper/leaf"), vec![0; 10_000]).unwrap();
    symlink("../outside", world.folder.join("sub/link")).unwrap();
    std::os::unix::fs::chown(world.folder.join("sub"), Some(USER), Some(USER)).unwrap();
    client.sh(&format!("mkfifo {}/sub/fifo", world.folder.display()));
    let (entries, last) = list(&mut client, &world.path(""), true, 0).unwrap();
    assert!(!last.truncated && last.skipped == 0);
    let by_name: BTreeMap<&[u8], &FileEntry> = entries.iter().map(|e| (e.path.as_slice(), e)).collect();
    assert_eq!(by_name.len(), 9);
    for name in hostile {
        assert_eq!((by_name[name].r#type(), by_name[name].size), (FileType::Regular, name.len() as u64));
    }
    assert_eq!(by_name[&b"sub/link"[..]].target, b"../outside");
    assert_eq!(by_name[&b"sub/fifo"[..]].r#type(), FileType::Fifo);
    assert_eq!(by_name[&b"sub/deeper"[..]].r#type(), FileType::Directory);
    let leaf = by_name[&b"sub/deeper/leaf"[..]];
    assert!(leaf.size == 10_000 && leaf.allocated >= 10_000 && leaf.mtime_nanos > 1_000_000_000_000_000_000);
    let (flat, _) = list(&mut client, &world.path(""), false, 0).unwrap();
    assert_eq!(flat.len(), 5);
    let (some, last) = list(&mut client, &world.path(""), true, 3).unwrap();
    assert_eq!((some.len(), last.truncated, last.skipped), (3, true, 6));
}

#[test]
fn wide_and_deep_trees_are_listed_and_removed() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let script = format!(
        "cd {}; mkdir wide; cd wide; seq 1 5000 | xargs touch; for i in $(seq 1 300); do mkdir d$i; touch d$i/x; done; \
         cd ..; for i in $(seq 1 300); do mkdir d; cd d || exit 1; done",
        world.folder.display()
    );
    assert_eq!(client.sh(&script).ended.exit_code, 0);
    let (entries, last) = list(&mut client, &world.path("wide"), true, 0).unwrap();
    assert_eq!((entries.len(), last.truncated), (5600, false));
    let unique: std::collections::BTreeSet<&[u8]> = entries.iter().map(|e| e.path.as_slice()).collect();
    assert_eq!(unique.len(), 5600);
    let (entries, last) = list(&mut client, &world.path("d"), true, 0).unwrap();
    assert_eq!((entries.len(), last.truncated, last.skipped), (256, true, 1));
    let remove = |name, recursive| Change::Remove(Remove { path: world.path(name), recursive });
    assert_eq!(change(&mut client, remove("wide", false)), Err(ErrorKind::ErrorExists));
    assert_eq!(change(&mut client, remove("wide", true)), Ok(0));
    assert_eq!(change(&mut client, remove("missing", true)), Err(ErrorKind::ErrorNotFound));
    assert_eq!(names(&world), ["d"]);
}

#[test]
fn folders_are_made_moved_and_removed() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let make = |name, parents| {
        Change::MakeDirectory(MakeDirectory { path: world.path(name), mode: 0o2770, uid: USER, gid: USER, parents })
    };
    assert_eq!(change(&mut client, make("x/y", false)), Err(ErrorKind::ErrorNotFound));
    assert_eq!(change(&mut client, make("x/y", true)), Ok(0));
    assert_eq!(change(&mut client, make("x/y", true)), Ok(0));
    assert_eq!(change(&mut client, make("x/y", false)), Err(ErrorKind::ErrorExists));
    let meta = std::fs::metadata(world.folder.join("x/y")).unwrap();
    assert_eq!((meta.uid(), meta.mode() & 0o7777), (USER, 0o770));
    put(&mut client, put_request(&world.path("x/y/f")), b"f").unwrap();
    let move_it = |from, to| Change::Move(Move { from: world.path(from), to: world.path(to) });
    assert_eq!(change(&mut client, move_it("x/y", "z")), Ok(0));
    assert_eq!(std::fs::read(world.folder.join("z/f")).unwrap(), b"f");
    symlink("/etc", world.folder.join("link")).unwrap();
    let remove = Change::Remove(Remove { path: world.path("link"), recursive: true });
    assert_eq!(change(&mut client, remove), Ok(0));
    assert!(std::path::Path::new("/etc/passwd").exists());
    let root = Change::Remove(Remove { path: b"/".to_vec(), recursive: true });
    assert_eq!(change(&mut client, root), Err(ErrorKind::ErrorInvalid));
}

#[test]
fn a_transfer_does_not_hold_up_execs() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    put(&mut client, put_request(&world.path("big")), &vec![7; 50_000_000]).unwrap();
    let stream = client.stream();
    let request = FileGet { credit_bytes: u64::MAX, ..get_request(&world.path("big")) };
    client.send(stream, client_frame::Body::FileGet(request));
    assert_eq!(client.sh("echo meanwhile").text(), "meanwhile\n");
}

fn stat(client: &mut Client, path: &[u8]) -> Result<FileEntry, ErrorKind> {
    let stream = client.stream();
    client.send(stream, client_frame::Body::FileStat(FileStat { path: path.to_vec() }));
    match client.read_of(stream).body.unwrap() {
        Body::FileEntries(mut entries) => {
            assert!(entries.last && entries.entries.len() == 1);
            Ok(entries.entries.remove(0))
        }
        Body::Error(error) => Err(error.kind()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_entry_is_told_without_following_links() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    put(&mut client, put_request(&world.path("f")), b"12345").unwrap();
    symlink("f", world.folder.join("link")).unwrap();
    let entry = stat(&mut client, &world.path("f")).unwrap();
    assert_eq!((entry.size, entry.mode, entry.r#type(), entry.path.len()), (5, 0o640, FileType::Regular, 0));
    assert!(entry.mtime_nanos > 0 && entry.links == 1);
    let entry = stat(&mut client, &world.path("link")).unwrap();
    assert_eq!((entry.r#type(), entry.target), (FileType::Symlink, b"f".to_vec()));
    assert_eq!(stat(&mut client, b"/").unwrap().r#type(), FileType::Directory);
    assert_eq!(stat(&mut client, &world.path("none")), Err(ErrorKind::ErrorNotFound));
    assert_eq!(stat(&mut client, b"/proc/1/status"), Err(ErrorKind::ErrorPermission));
    assert!(stat(&mut client, &world.path("link/x")).is_err());
}

#[test]
fn attributes_are_set_on_files_and_folders_only() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    put(&mut client, put_request(&world.path("f")), b"x").unwrap();
    put(&mut client, put_request(&world.path("two")), b"x").unwrap();
    std::fs::hard_link(world.folder.join("two"), world.folder.join("names")).unwrap();
    symlink("f", world.folder.join("link")).unwrap();
    let set = |path: &str| SetAttributes { path: world.path(path), ..SetAttributes::default() };
    let mut change = |request: SetAttributes| change(&mut client, Change::SetAttributes(request));
    let all = SetAttributes {
        mode: Some(0o1751),
        uid: Some(1234),
        gid: Some(4321),
        mtime_nanos: Some(1_500_000_000_123_456_789),
        ..set("f")
    };
    change(all).unwrap();
    let meta = || std::fs::metadata(world.folder.join("f")).unwrap();
    assert_eq!((meta().mode() & 0o7777, meta().uid(), meta().gid()), (0o1751, 1234, 4321));
    assert_eq!((meta().mtime(), meta().mtime_nsec()), (1_500_000_000, 123_456_789));
    change(SetAttributes { mode: Some(0o600), ..set("f") }).unwrap();
    assert_eq!((meta().mode() & 0o7777, meta().uid(), meta().mtime()), (0o600, 1234, 1_500_000_000));
    for (request, kind) in [
        (SetAttributes { mode: Some(0o4755), ..set("f") }, ErrorKind::ErrorInvalid),
        (SetAttributes { mode: Some(0o2755), ..set("f") }, ErrorKind::ErrorInvalid),
        (SetAttributes { uid: Some(65_533), ..set("f") }, ErrorKind::ErrorInvalid),
        (SetAttributes { gid: Some(u32::MAX), ..set("f") }, ErrorKind::ErrorInvalid),
        (SetAttributes { mode: Some(0o777), ..set("link") }, ErrorKind::ErrorNotRegular),
        (SetAttributes { uid: Some(USER), ..set("names") }, ErrorKind::ErrorNotRegular),
        (SetAttributes { mode: Some(0o777), ..set("none") }, ErrorKind::ErrorNotFound),
    ] {
        assert_eq!(change(request.clone()), Err(kind), "{request:?}");
    }
    assert_eq!((meta().mode() & 0o7777, meta().uid()), (0o600, 1234));
}
