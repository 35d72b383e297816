//! Tests over a fake root: no root needed, nothing of this host read.

mod caching;
mod linking;
mod secrecy;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::{HostTemplate, TemplateError, Tool, build_from};

/// No test of this crate may take longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A fake host with a cache beside it, removed at the end.
struct Fake {
    top: PathBuf,
}

impl Fake {
    /// The least that a merged-/usr host has.
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let top = std::env::temp_dir().join(format!("caisson-template-{}-{number}", std::process::id()));
        fs::create_dir(&top).unwrap();
        let fake = Self { top };
        for path in ["usr/bin", "usr/sbin", "usr/lib", "usr/share", "etc"] {
            fs::create_dir_all(fake.host(path)).unwrap();
        }
        for name in ["bin", "sbin", "lib"] {
            fake.link(name, &format!("usr/{name}"));
        }
        fake.file("usr/bin/sh", "#!");
        fake
    }

    fn root(&self) -> PathBuf {
        self.top.join("root")
    }

    fn cache(&self) -> PathBuf {
        self.top.join("cache")
    }

    fn host(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    fn file(&self, path: &str, content: &str) {
        self.file_mode(path, content, 0o644);
    }

    fn file_mode(&self, path: &str, content: &str, mode: u32) {
        fs::create_dir_all(self.host(path).parent().unwrap()).unwrap();
        fs::write(self.host(path), content).unwrap();
        fs::set_permissions(self.host(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    fn link(&self, path: &str, target: &str) {
        fs::create_dir_all(self.host(path).parent().unwrap()).unwrap();
        symlink(target, self.host(path)).unwrap();
    }

    fn build(&self) -> HostTemplate {
        self.try_build().unwrap()
    }

    /// Fails the test instead of hanging.
    fn try_build(&self) -> Result<HostTemplate, TemplateError> {
        let (root, cache) = (self.root(), self.cache());
        let (send, receive) = mpsc::channel();
        thread::spawn(move || send.send(build_from(&root, &cache, &[])));
        receive.recv_timeout(PATIENCE).expect("the build hangs")
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.top);
    }
}

fn read(template: &HostTemplate, path: &str) -> String {
    fs::read_to_string(template.skeleton.join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn target(template: &HostTemplate, path: &str) -> PathBuf {
    fs::read_link(template.skeleton.join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn holds(template: &HostTemplate, path: &str) -> bool {
    fs::symlink_metadata(template.skeleton.join(path)).is_ok()
}

fn mode(template: &HostTemplate, path: &str) -> u32 {
    fs::symlink_metadata(template.skeleton.join(path)).unwrap().permissions().mode() & 0o7777
}

fn warned(template: &HostTemplate, part: &str) -> bool {
    template.warnings.iter().any(|warning| warning.contains(part))
}

#[test]
fn lays_out_links_mount_points_and_homes() {
    let fake = Fake::new();
    fake.link("lib64", "/usr/lib64");
    let template = fake.build();
    assert_eq!(target(&template, "bin"), Path::new("usr/bin"));
    assert_eq!(target(&template, "lib64"), Path::new("usr/lib64"));
    assert!(!holds(&template, "lib32"));
    assert_eq!(target(&template, "var/run"), Path::new("/run"));
    for (path, permissions) in
        [("", 0o755), ("tmp", 0o1777), ("var/tmp", 0o1777), ("root", 0o700), ("work", 0o755), ("home/sandbox", 0o700)]
    {
        assert_eq!(mode(&template, path), permissions, "{path}");
    }
    for path in ["proc", "sys/fs/cgroup/pids", "dev", "run", "usr", "opt", "srv", "var/lib"] {
        assert!(holds(&template, path), "{path}");
    }
    for path in ["mnt", "media", "boot"] {
        assert!(!holds(&template, path), "{path}");
    }
}

#[test]
fn names_the_user_and_a_shell_that_exists() {
    let fake = Fake::new();
    assert!(read(&fake.build(), "etc/passwd").ends_with("sandbox:x:1000:1000:sandbox:/home/sandbox:/bin/sh\n"));
    fake.file("usr/bin/bash", "#!");
    let template = fake.build();
    assert!(read(&template, "etc/passwd").ends_with(":/home/sandbox:/bin/bash\n"));
    assert!(read(&template, "etc/shells").contains("/bin/bash\n"));
    assert!(!read(&template, "etc/shells").contains("zsh"));
}

#[test]
fn refuses_a_host_that_is_not_merged() {
    let fake = Fake::new();
    fs::remove_file(fake.host("sbin")).unwrap();
    fs::create_dir(fake.host("sbin")).unwrap();
    let error = fake.try_build().unwrap_err();
    assert!(matches!(&error, TemplateError::NotMerged { path } if path.ends_with("sbin")), "{error}");
    assert!(error.to_string().contains("not merged-/usr"));
}

#[test]
fn refuses_a_top_level_link_that_leaves_usr() {
    let fake = Fake::new();
    fake.link("lib64", "usr/../var/lib64");
    assert!(matches!(fake.try_build(), Err(TemplateError::NotMerged { .. })));
}

#[test]
fn tools_are_put_in_and_another_version_of_one_makes_another_template() {
    let fake = Fake::new();
    let plain = fake.build();
    assert!(!holds(&plain, "opt/caisson"));
    let with = |content: &[u8]| build_from(&fake.root(), &fake.cache(), &[Tool { name: "sudo", content }]).unwrap();
    let first = with(b"one");
    assert_eq!((read(&first, "opt/caisson/bin/sudo"), mode(&first, "opt/caisson/bin/sudo")), ("one".to_owned(), 0o755));
    assert_eq!(mode(&first, "opt/caisson/bin"), 0o755);
    let second = with(b"two");
    assert_ne!(first, second);
    assert_eq!(with(b"one"), first);
    assert_eq!(fake.build(), plain);
}
