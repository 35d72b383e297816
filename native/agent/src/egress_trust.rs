//! Files that a way out brings into /etc: where to ask for names, and whom to trust.

use crate::error::Refusal;
use crate::put::Put;
use caisson_wire::agent::FilePut;
use caisson_wire::egress::Trust;

/// The address does not matter: every question comes to the agent. IPv4 alone, for resolvers ask each that they are told of.
const RESOLVER: &[u8] = b"nameserver 192.0.0.53\noptions timeout:10 attempts:2\n";
const MAX_FILES: usize = 64;

/// Tells resolvers whom to ask.
pub fn write_resolver() -> Result<(), String> {
    write(b"/etc/resolv.conf", RESOLVER).map_err(|refusal| refusal.message().to_owned())
}

/// Writes what the gateway wants trusted; returns the variables that point to it.
pub fn take(trust: Trust) -> Result<Vec<String>, Refusal> {
    if trust.files.len() > MAX_FILES {
        return Err(Refusal::invalid("too many files to trust"));
    }
    for file in &trust.files {
        if !file.path.starts_with("/etc/") {
            return Err(Refusal::invalid("a file to trust lies outside of /etc"));
        }
        write(file.path.as_bytes(), &file.content)?;
    }
    Ok(trust.env)
}

/// Adds variables that are not set.
pub fn add_env(env: &mut Vec<Vec<u8>>, more: &[String]) {
    for entry in more {
        let Some(end) = entry.find('=') else { continue };
        let key = entry.as_bytes().get(..=end).unwrap_or_default();
        if !env.iter().any(|own| own.starts_with(key)) {
            env.push(entry.as_bytes().to_vec());
        }
    }
}

fn write(path: &[u8], content: &[u8]) -> Result<(), Refusal> {
    let put = FilePut { path: path.to_vec(), mode: 0o644, uid: 0, gid: 0, parents: true };
    let mut put = Put::begin(&put)?;
    put.write(content)?;
    put.finish().map(drop)
}
