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
const VOLUME_SIZES: std::ops::RangeInclusive<u64> = 16 << 20..=1 << 40;
/// Volumes of one sandbox: their descriptors travel in one packet with others.
const MAX_VOLUMES: usize = 8;
/// Bytes of a path at which a volume is mounted.
pub const MAX_PATH: usize = 1000;
/// Top folders that no volume may cover or change.
const RESERVED: [&str; 13] =
    ["proc", "sys", "dev", "etc", "usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "run", "boot"];
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
    let shape = self::limits(limits)?;
    within("lease_millis", request.lease_millis, 0..=MAX_MILLIS)?;
    within("max_life_millis", request.max_life_millis, 0..=MAX_MILLIS)?;
    if request.leased && request.lease_millis == 0 {
        return Err(Error::invalid("a leased sandbox needs lease_millis"));
    }
    if !request.snapshot.is_empty() {
        disk_id(&request.snapshot)?;
    }
    volume_mounts(&request.volumes)?;
    Ok(shape)
}

/// Checks limits; returns the shape of a disk within them.
pub fn limits(limits: &wire::Limits) -> Result<Shape> {
    within("cpu_millis", limits.cpu_millis, 10..=MAX_CPU_MILLIS)?;
    within("memory_bytes", limits.memory_bytes, MIN_MEMORY..=MAX_MEMORY)?;
    within("pids", limits.pids, 1..=MAX_PIDS)?;
    within("tmp_bytes", limits.tmp_bytes, 0..=MAX_MEMORY)?;
    disk(limits.disk_bytes, limits.inodes, SIZES)
}

fn disk(bytes: u64, inodes: u64, sizes: std::ops::RangeInclusive<u64>) -> Result<Shape> {
    within("disk_bytes", bytes, sizes)?;
    within("inodes", inodes, INODES)?;
    // Whole blocks; ext4 needs about one inode per block group and eight per block of its table.
    Ok(Shape { bytes: bytes & !4095, inodes: inodes.min(bytes / 4096) })
}

/// Checks the name of a snapshot or a volume: as that of a sandbox.
pub fn disk_id(id: &str) -> Result<()> {
    sandbox_id(id).map_err(|_| {
        Error::invalid("the id of a snapshot or a volume is 22 lower-case letters and digits and starts with a letter")
    })
}

/// Checks a `MakeVolume`; returns the shape of its disk.
pub fn make_volume(request: &wire::MakeVolume) -> Result<Shape> {
    disk_id(&request.volume)?;
    disk(request.disk_bytes, request.inodes, VOLUME_SIZES)
}

fn volume_mounts(mounts: &[wire::VolumeMount]) -> Result<()> {
    if mounts.len() > MAX_VOLUMES {
        return Err(Error::invalid(format!("a sandbox has at most {MAX_VOLUMES} volumes")));
    }
    for (number, mount) in mounts.iter().enumerate() {
        disk_id(&mount.volume)?;
        inside_path(&mount.path)?;
        for other in &mounts[..number] {
            let beneath = |a: &[u8], b: &[u8]| a == b || a.strip_prefix(b).is_some_and(|rest| rest[0] == b'/');
            if mount.volume == other.volume || beneath(&mount.path, &other.path) || beneath(&other.path, &mount.path) {
                return Err(Error::invalid("each volume is mounted once, and none beneath another"));
            }
        }
    }
    Ok(())
}

/// Checks the place of a volume inside: absolute and plain, and not over what the sandbox itself is made of.
fn inside_path(path: &[u8]) -> Result<()> {
    let plain =
        |part: &[u8]| !part.is_empty() && part.len() <= 255 && part != b"." && part != b".." && !part.contains(&0);
    let mut parts = match path.split_first() {
        Some((b'/', rest)) if path.len() <= MAX_PATH => rest.split(|b| *b == b'/'),
        _ => return Err(Error::invalid(format!("a volume's path is absolute and at most {MAX_PATH} bytes long"))),
    };
    if !parts.clone().all(plain) {
        return Err(Error::invalid("a volume's path has no empty parts, no '.' and no '..'"));
    }
    let top = parts.next().unwrap_or_default();
    if RESERVED.iter().any(|name| name.as_bytes() == top) {
        return Err(Error::invalid("a volume cannot be mounted over or beneath what makes the sandbox")
            .remedy(format!("use a path such as /data; not beneath /{}", RESERVED.join(", /"))));
    }
    Ok(())
}

/// Checks a span of time.
pub fn millis(name: &str, value: u64) -> Result<()> {
    within(name, value, 0..=MAX_MILLIS)
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

    #[test]
    fn refuses_places_of_volumes_that_lead_elsewhere() {
        let at = |paths: &[&[u8]]| {
            let mount = |(n, path): (usize, &&[u8])| wire::VolumeMount {
                volume: format!("vo{n:020}"),
                path: path.to_vec(),
                read_only: false,
            };
            create(&wire::Create { volumes: paths.iter().enumerate().map(mount).collect(), ..valid() })
        };
        let long = [b"/".as_slice(), &[b'a'; 256]].concat();
        let longer = b"/abcdefg".repeat(130);
        for path in [
            b"".as_slice(),
            b"/",
            b"data",
            b"//data",
            b"/data/",
            b"/data/../etc",
            b"/..",
            b"/.",
            b"/a\0b",
            b"/proc",
            b"/proc/sys",
            b"/dev/shm",
            b"/sys",
            b"/etc",
            b"/etc/ssl",
            b"/usr/local",
            b"/bin",
            b"/lib64",
            &long,
            &longer,
        ] {
            assert!(at(&[path]).is_err(), "{:?}", String::from_utf8_lossy(path));
        }
        for path in [b"/data".as_slice(), b"/work", b"/home/sandbox/data", b"/tmp/x", b"/usrlocal", b"/a b\n\xff"] {
            assert!(at(&[path]).is_ok(), "{:?}", String::from_utf8_lossy(path));
        }
        assert!(at(&[b"/a", b"/b", b"/ab"]).is_ok());
        assert!(at(&[b"/a", b"/a"]).is_err());
        assert!(at(&[b"/a", b"/a/b"]).is_err());
        assert!(at(&[b"/a/b", b"/a"]).is_err());
        assert!(at(&[b"/1", b"/2", b"/3", b"/4", b"/5", b"/6", b"/7", b"/8", b"/9"]).is_err());
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
