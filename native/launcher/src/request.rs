//! The grammar and the bounds of requests. The launcher trusts its client for nothing else.

use crate::disk::{SIZES, Shape};
use crate::error::{Error, Result};
use caisson_wire::launcher as wire;

const MAX_CPU_MILLIS: u64 = 1_024_000;
const MIN_MEMORY: u64 = 4 << 20;
const MAX_MEMORY: u64 = 1 << 44;
const MAX_PIDS: u64 = 4_194_304;
const INODES: std::ops::RangeInclusive<u64> = 256..=1 << 32;
const MAX_MILLIS: u64 = 366 * 24 * 3_600_000;
/// The only template so far.
pub const TEMPLATES: [&str; 1] = ["host"];

/// A sandbox id: a letter and 21 letters or digits, lower case.
pub fn sandbox_id(id: &str) -> Result<()> {
    let letters = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    if id.len() == 22 && id.as_bytes()[0].is_ascii_lowercase() && id.bytes().all(letters) {
        return Ok(());
    }
    Err(Error::invalid("a sandbox id is 22 lower-case letters and digits and starts with a letter"))
}

/// A group id. `system` is ours.
pub fn group_id(group: &str) -> Result<()> {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_' || c == b'-';
    let first = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    if (1..=63).contains(&group.len()) && first(group.as_bytes()[0]) && group.bytes().all(inner) && group != "system" {
        return Ok(());
    }
    Err(Error::invalid(
        "a group is 1 to 63 lower-case letters, digits, '_' and '-', starts with a letter or digit and is not 'system'",
    ))
}

fn within(name: &str, value: u64, range: std::ops::RangeInclusive<u64>) -> Result<()> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(Error::invalid(format!("{name} is {value}, allowed are {} to {}", range.start(), range.end())))
}

/// Checks a `Create`; returns the shape of its disk.
pub fn create(request: &wire::Create) -> Result<Shape> {
    sandbox_id(&request.sandbox)?;
    group_id(&request.group)?;
    if !TEMPLATES.contains(&request.template.as_str()) {
        return Err(Error::new(wire::ErrorKind::ErrorNotFound, "this launcher knows no such template")
            .remedy("use the template 'host'"));
    }
    let Some(limits) = &request.limits else {
        return Err(Error::invalid("limits are missing: every sandbox has them"));
    };
    within("cpu_millis", limits.cpu_millis, 10..=MAX_CPU_MILLIS)?;
    within("memory_bytes", limits.memory_bytes, MIN_MEMORY..=MAX_MEMORY)?;
    within("pids", limits.pids, 1..=MAX_PIDS)?;
    within("disk_bytes", limits.disk_bytes, SIZES)?;
    within("inodes", limits.inodes, INODES)?;
    within("tmp_bytes", limits.tmp_bytes, 0..=MAX_MEMORY)?;
    within("lease_millis", request.lease_millis, 0..=MAX_MILLIS)?;
    within("max_life_millis", request.max_life_millis, 0..=MAX_MILLIS)?;
    if request.leased && request.lease_millis == 0 {
        return Err(Error::invalid("a leased sandbox needs lease_millis"));
    }
    // Whole blocks; ext4 needs about one inode per block group and eight per block of its table.
    Ok(Shape { bytes: limits.disk_bytes & !4095, inodes: limits.inodes.min(limits.disk_bytes / 4096) })
}

/// Checks a `SetGroup`.
pub fn set_group(request: &wire::SetGroup) -> Result<()> {
    group_id(&request.group)?;
    within("weight", u64::from(request.weight), 0..=1000)?;
    within("memory_bytes", request.memory_bytes, 0..=MAX_MEMORY)?;
    within("pids", request.pids, 0..=MAX_PIDS)?;
    within("cpu_millis", request.cpu_millis, 0..=MAX_CPU_MILLIS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn valid() -> wire::Create {
        wire::Create {
            sandbox: "sb00000000000000000000".into(),
            group: "local".into(),
            template: "host".into(),
            limits: Some(wire::Limits {
                cpu_millis: 1000,
                memory_bytes: 512 << 20,
                pids: 256,
                disk_bytes: 1 << 30,
                inodes: 131_072,
                ..Default::default()
            }),
            ..Default::default()
        }
    }

    #[test]
    fn takes_what_the_defaults_ask() {
        assert_eq!(create(&valid()).unwrap(), Shape { bytes: 1 << 30, inodes: 131_072 });
    }

    #[test]
    fn refuses_names_that_could_lead_elsewhere() {
        for id in [
            "",
            "sb",
            "../../../../../../etcxx",
            "SB00000000000000000000",
            "sb0000000000000000000/",
            "sb00000000000000000000\0",
        ] {
            assert!(sandbox_id(id).is_err(), "{id:?}");
        }
        for group in ["", "system", "..", "a/b", "-a", "_x", "a b", "ä", &"a".repeat(64)] {
            assert!(group_id(group).is_err(), "{group:?}");
        }
        assert!(create(&wire::Create { template: "/etc".into(), ..valid() }).is_err());
    }

    #[test]
    fn refuses_a_sandbox_without_limits_or_with_one_out_of_bounds() {
        assert!(create(&wire::Create { limits: None, ..valid() }).is_err());
        let change = |f: fn(&mut wire::Limits)| {
            let mut request = valid();
            f(request.limits.as_mut().unwrap());
            create(&request)
        };
        assert!(change(|l| l.memory_bytes = 0).is_err());
        assert!(change(|l| l.pids = 0).is_err());
        assert!(change(|l| l.disk_bytes = u64::MAX).is_err());
        assert!(change(|l| l.cpu_millis = 0).is_err());
        assert!(change(|l| l.inodes = 1).is_err());
        assert!(change(|l| l.pids = 1).is_ok());
    }

    proptest! {
        #[test]
        fn an_accepted_id_is_one_plain_path_component(id in ".{0,30}") {
            if sandbox_id(&id).is_ok() {
                prop_assert!(!id.contains('/') && !id.contains('.') && id.is_ascii());
            }
        }
    }
}
