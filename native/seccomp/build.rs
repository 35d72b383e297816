//! Writes the filters of the target architecture as constants.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A build that fails is how a build script reports.

#[path = "generate/mod.rs"]
mod generate;

use std::fmt::Write;

use generate::policy::{self, Arch};
use generate::program::Instruction;

fn main() {
    println!("cargo::rerun-if-changed=generate");
    let target = std::env::var("CARGO_CFG_TARGET_ARCH").expect("cargo names the target");
    let arch = Arch::named(&target).unwrap_or_else(|| panic!("no policy for {target}"));
    let mut text = String::new();
    write_filter(&mut text, "USER", &policy::user(arch, false));
    write_filter(&mut text, "USER_INET6", &policy::user(arch, true));
    write_filter(&mut text, "AGENT", &policy::agent(arch));
    write_filter(&mut text, "LAUNCHER", &policy::launcher(arch));
    write_filter(&mut text, "OUTLET", &policy::outlet(arch));
    let folder = std::env::var("OUT_DIR").expect("cargo names the output folder");
    std::fs::write(format!("{folder}/filters.rs"), text).expect("the output folder can be written");
}

fn write_filter(text: &mut String, name: &str, filter: &[Instruction]) {
    writeln!(text, "static {name}: [libc::sock_filter; {}] = [", filter.len()).unwrap();
    for Instruction { code, jt, jf, k } in filter {
        writeln!(text, "    libc::sock_filter {{ code: {code}, jt: {jt}, jf: {jf}, k: {k} }},").unwrap();
    }
    writeln!(text, "];").unwrap();
}
