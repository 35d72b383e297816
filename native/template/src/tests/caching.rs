//! When a template is reused, and what concurrent and dying builders do.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::mpsc;
use std::thread;

use super::{Fake, PATIENCE, holds, read};
use crate::{TemplateError, build_from, prune};

#[test]
fn reuses_a_template_while_nothing_changed() {
    let fake = Fake::new();
    fake.file("etc/services", "one");
    let first = fake.build();
    fs::write(first.skeleton.join("mark"), "").unwrap();
    let second = fake.build();
    assert_eq!(first, second);
    assert!(holds(&second, "mark"), "not built again");
}

type Change = fn(&Fake);

#[test]
fn builds_anew_when_a_source_changed() {
    let fake = Fake::new();
    fake.file("etc/services", "one");
    let mut seen = HashSet::from([fake.build().skeleton]);
    let changes: [(&str, Change); 6] = [
        ("content", |fake| fake.file("etc/services", "two")),
        ("permissions", |fake| fake.file_mode("etc/services", "two", 0o640)),
        ("a known file that appears", |fake| fake.file("etc/protocols", "ip")),
        ("a file in a copied folder", |fake| fake.file("etc/fonts/one.conf", "x")),
        ("a link in /usr/bin", |fake| fake.link("usr/bin/one", "/etc/one")),
        ("its target", |fake| fake.file("etc/one", "x")),
    ];
    for (what, change) in changes {
        change(&fake);
        assert!(seen.insert(fake.build().skeleton), "{what}");
    }
    assert!(holds(&fake.build(), "etc/one"));
}

#[test]
fn keeps_earlier_templates_until_they_are_pruned() {
    let fake = Fake::new();
    fake.file("etc/services", "one");
    let first = fake.build();
    fake.file("etc/services", "two");
    let second = fake.build();
    assert_eq!(read(&first, "etc/services"), "one");
    assert_eq!(prune(&fake.cache(), &[first.skeleton.clone(), second.skeleton.clone()]).unwrap(), 0);
    assert_eq!(prune(&fake.cache(), std::slice::from_ref(&second.skeleton)).unwrap(), 1);
    assert!(!first.skeleton.exists());
    assert_eq!(fake.build(), second);
}

#[test]
fn builds_once_for_concurrent_callers() {
    let fake = Fake::new();
    for number in 0..200 {
        fake.file(&format!("etc/fonts/{number}.conf"), "x");
    }
    let (send, receive) = mpsc::channel();
    for _ in 0..8 {
        let (root, cache, send) = (fake.root(), fake.cache(), send.clone());
        thread::spawn(move || send.send(build_from(&root, &cache, &[]).unwrap()));
    }
    let templates: HashSet<_> = (0..8).map(|_| receive.recv_timeout(PATIENCE).unwrap().skeleton).collect();
    assert_eq!(templates.len(), 1);
    let names: Vec<_> = fs::read_dir(fake.cache()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "one template and the lock: {names:?}");
}

#[test]
fn removes_what_a_dead_builder_left() {
    let fake = Fake::new();
    fake.build();
    fs::create_dir_all(fake.cache().join("building/skeleton/etc")).unwrap();
    fs::write(fake.cache().join("building/skeleton/etc/passwd"), "half").unwrap();
    fake.file("etc/services", "new");
    let template = fake.build();
    assert!(read(&template, "etc/passwd").starts_with("root:"));
    assert!(!fake.cache().join("building").exists());
}

#[test]
fn leaves_nothing_behind_when_it_fails() {
    let fake = Fake::new();
    fs::remove_file(fake.host("bin")).unwrap();
    assert!(fake.try_build().is_err());
    assert!(!fake.cache().join("building").exists());
}

#[test]
fn replaces_a_damaged_template() {
    let fake = Fake::new();
    let first = fake.build();
    fs::remove_file(first.skeleton.join("etc/passwd")).unwrap();
    let second = fake.build();
    assert!(holds(&second, "etc/passwd"));
    assert_eq!(fake.build(), second);
}

#[test]
fn keeps_templates_from_other_users_of_the_host() {
    let fake = Fake::new();
    let template = fake.build();
    let parent = template.skeleton.parent().unwrap();
    assert_eq!(fs::metadata(parent).unwrap().permissions().mode() & 0o7777, 0o700);
}

#[test]
fn refuses_a_cache_that_others_may_write_to() {
    let fake = Fake::new();
    fs::create_dir(fake.cache()).unwrap();
    fs::set_permissions(fake.cache(), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(fake.try_build(), Err(TemplateError::UnsafeCache { .. })));
}
