//! Which links are followed, and what comes with them.

use std::fs;
use std::path::Path;

use super::{Fake, holds, mode, read, target, warned};
use crate::skeleton::Skeleton;

#[test]
fn copies_a_chain_of_links_through_alternatives() {
    let fake = Fake::new();
    fake.file("usr/lib/tool/bin/tool", "#!");
    fake.link("usr/bin/tool", "/etc/tools/tool");
    fake.link("etc/tools/tool", "../second/tool");
    fake.link("etc/second/tool", "/usr/lib/tool/bin/tool");
    let template = fake.build();
    assert_eq!(target(&template, "etc/tools/tool"), Path::new("../second/tool"));
    assert_eq!(target(&template, "etc/second/tool"), Path::new("/usr/lib/tool/bin/tool"));
}

#[test]
fn copies_what_a_relative_link_reaches() {
    let fake = Fake::new();
    fake.link("usr/lib/jvm/one/conf/java.security", "../../../../../etc/one/java.security");
    fake.file_mode("etc/one/java.security", "providers", 0o666);
    let template = fake.build();
    assert_eq!(read(&template, "etc/one/java.security"), "providers");
    assert_eq!(mode(&template, "etc/one/java.security"), 0o644);
}

#[test]
fn copies_without_set_id_and_foreign_write() {
    let fake = Fake::new();
    fake.file_mode("etc/one/run", "#!", 0o6777);
    fake.link("usr/bin/run", "/etc/one/run");
    assert_eq!(mode(&fake.build(), "etc/one/run"), 0o755);
}

#[test]
fn copies_a_whole_folder_with_its_inner_links() {
    let fake = Fake::new();
    fake.file("usr/share/real", "x");
    fake.link("usr/share/letters", "/etc/letters");
    fake.file("etc/letters/a/b/c", "deep");
    fake.link("etc/letters/inner", "/etc/elsewhere");
    fake.file("etc/elsewhere", "else");
    fake.link("etc/letters/usr", "/usr/share/real");
    fake.link("etc/letters/self", ".");
    let template = fake.build();
    assert_eq!(read(&template, "etc/letters/a/b/c"), "deep");
    assert_eq!(read(&template, "etc/elsewhere"), "else");
    assert_eq!(target(&template, "etc/letters/usr"), Path::new("/usr/share/real"));
    assert_eq!(target(&template, "etc/letters/self"), Path::new("."));
}

#[test]
fn follows_a_link_in_the_middle_of_a_path() {
    let fake = Fake::new();
    fake.link("usr/lib/certificates", "/etc/one/certs");
    fake.link("etc/one", "two");
    fake.file("etc/two/certs/ca.crt", "ca");
    let template = fake.build();
    assert_eq!(target(&template, "etc/one"), Path::new("two"));
    assert_eq!(read(&template, "etc/two/certs/ca.crt"), "ca");
}

#[test]
fn leaves_out_loops_and_dangling_links() {
    let fake = Fake::new();
    fake.link("usr/bin/loop", "/etc/loops/a");
    fake.link("etc/loops/a", "b");
    fake.link("etc/loops/b", "a");
    fake.link("usr/bin/gone", "/etc/gone/target");
    fake.link("usr/bin/later", "/etc/later/link");
    fake.link("etc/later/link", "/usr/lib/missing");
    let template = fake.build();
    for path in ["etc/loops/a", "etc/loops/b", "etc/gone", "etc/later/link"] {
        assert!(!holds(&template, path), "{path}");
    }
}

#[test]
fn leaves_out_and_reports_what_leads_elsewhere() {
    let fake = Fake::new();
    fake.file("opt/tool/bin/tool", "#!");
    fake.file("home/someone/notes", "private notes");
    fake.link("usr/bin/tool", "/etc/alternatives/tool");
    fake.link("etc/alternatives/tool", "/opt/tool/bin/tool");
    fake.link("etc/fonts/notes", "../../home/someone/notes");
    let template = fake.build();
    assert!(!holds(&template, "etc/alternatives/tool"));
    assert!(!holds(&template, "etc/fonts/notes"));
    assert!(!holds(&template, "opt/tool"));
    assert!(!holds(&template, "home/someone"));
    assert!(warned(&template, "opt/tool"), "{:?}", template.warnings);
}

#[test]
fn does_not_copy_all_of_etc_through_a_link_to_it() {
    let fake = Fake::new();
    fake.link("usr/share/everything", "/etc");
    fake.link("usr/share/roundabout", "/etc/one/..");
    fake.file("etc/one/file", "x");
    fake.file("etc/internal.conf", "x");
    assert!(!holds(&fake.build(), "etc/internal.conf"));
}

#[test]
fn keeps_the_written_files_against_links_to_the_hosts() {
    let fake = Fake::new();
    fake.file("etc/hosts", "10.0.0.7 intranet");
    fake.file("etc/environment", "PROXY=x");
    fake.link("usr/lib/environment.d/99.conf", "../../../etc/environment");
    fake.link("usr/share/hosts", "/etc/hosts");
    let template = fake.build();
    assert_eq!(read(&template, "etc/environment"), "");
    assert!(!read(&template, "etc/hosts").contains("intranet"));
}

#[test]
fn never_writes_through_a_link() {
    let fake = Fake::new();
    let outside = fake.top.join("outside");
    fs::create_dir(&outside).unwrap();
    let skeleton = Skeleton::create(&fake.top.join("skeleton")).unwrap();
    skeleton.link("etc/out", &outside).unwrap();
    assert!(skeleton.file("etc/out/file", b"x", 0o644).is_err());
    assert!(skeleton.directory("etc/out/folder", 0o755, 0).is_err());
    assert!(skeleton.link("etc/out/link", "x").is_err());
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    skeleton.file("etc/in/file", b"x", 0o644).unwrap();
}

#[test]
fn opens_no_pipe() {
    let fake = Fake::new();
    fs::create_dir_all(fake.host("etc/fonts")).unwrap();
    let pipe = fake.host("etc/fonts/pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    fake.link("usr/share/pipe", "/etc/fonts/pipe");
    assert!(!holds(&fake.build(), "etc/fonts/pipe"));
}

#[test]
fn leaves_out_a_file_that_is_too_large() {
    let fake = Fake::new();
    fake.file("etc/fonts/huge", "");
    fs::File::options().write(true).open(fake.host("etc/fonts/huge")).unwrap().set_len(9 << 20).unwrap();
    let template = fake.build();
    assert!(!holds(&template, "etc/fonts/huge"));
    assert!(warned(&template, "larger than"));
}

#[test]
fn copies_known_files_without_a_link() {
    let fake = Fake::new();
    fake.file("etc/services", "http 80/tcp\n");
    fake.file("etc/java-21-openjdk/security/java.security", "x");
    fake.file("etc/unknown.conf", "x");
    let template = fake.build();
    assert_eq!(read(&template, "etc/services"), "http 80/tcp\n");
    assert!(holds(&template, "etc/java-21-openjdk/security/java.security"));
    assert!(!holds(&template, "etc/unknown.conf"));
}
