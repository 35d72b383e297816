//! The command line of `sudo`, as far as it means something in a sandbox, and the environment of its command.

use crate::sudo_wire::Request;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// For a command line that cannot be used.
pub const USAGE: &str =
    "usage: sudo [-EHinSs] [-u user] [VAR=value] [command [argument ...]]\n       sudo -v | -l | -V";

/// Where commands of another user are looked up.
const PATH: &[u8] = b"PATH=/opt/caisson/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// What goes along without -E: terminal and language, and how to reach and trust the sandbox's gateway.
const KEPT: [&str; 25] = [
    "TERM",
    "COLORTERM",
    "LANG",
    "LANGUAGE",
    "TZ",
    "DEBIAN_FRONTEND",
    "http_proxy",
    "https_proxy",
    "ftp_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "FTP_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "PIP_CERT",
    "CARGO_HTTP_CAINFO",
    "JAVA_TOOL_OPTIONS",
];

/// What a command line asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Options {
    pub user: Vec<u8>,
    pub keep_environment: bool,
    pub set_home: bool,
    pub shell: bool,
    pub login: bool,
    pub validate: bool,
    pub list: bool,
    pub version: bool,
    /// Nothing is to be done.
    pub forget: bool,
    pub variables: Vec<Vec<u8>>,
    pub command: Vec<Vec<u8>>,
}

impl Options {
    /// Takes a command line apart; `None` when it cannot be used.
    pub fn parse(arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let mut options = Self { user: b"root".to_vec(), ..Self::default() };
        let mut arguments = arguments.map(OsString::into_vec).peekable();
        while let Some(word) = arguments.next_if(|word| word.len() > 1 && word.starts_with(b"-")) {
            match word.as_slice() {
                b"--" => break,
                b"--user" => options.user = arguments.next()?,
                b"--non-interactive" | b"--stdin" | b"--reset-timestamp" => {}
                b"--preserve-env" => options.keep_environment = true,
                b"--set-home" => options.set_home = true,
                b"--login" => options.login = true,
                b"--shell" => options.shell = true,
                b"--validate" => options.validate = true,
                b"--list" => options.list = true,
                b"--version" => options.version = true,
                b"--remove-timestamp" => options.forget = true,
                long if long.starts_with(b"--user=") => options.user = long.get(7..)?.to_vec(),
                long if long.starts_with(b"--") => return None,
                short => options.letters(short.get(1..)?, &mut arguments)?,
            }
        }
        while let Some(variable) = arguments.next_if(|word| is_variable(word)) {
            options.variables.push(variable);
        }
        options.command = arguments.collect();
        let needs_command = !(options.shell || options.login || options.validate || options.list);
        let complete = !needs_command || !options.command.is_empty() || options.version || options.forget;
        (complete && !options.user.is_empty()).then_some(options)
    }

    fn letters(&mut self, letters: &[u8], arguments: &mut impl Iterator<Item = Vec<u8>>) -> Option<()> {
        for (at, letter) in letters.iter().enumerate() {
            match letter {
                b'u' => {
                    let rest = letters.get(at + 1..)?;
                    self.user = if rest.is_empty() { arguments.next()? } else { rest.to_vec() };
                    return Some(());
                }
                // Nobody is asked for a password here.
                b'n' | b'S' | b'A' | b'B' | b'P' => {}
                b'k' => self.forget = true,
                b'K' => self.forget = true,
                b'E' => self.keep_environment = true,
                b'H' => self.set_home = true,
                b'i' => self.login = true,
                b's' => self.shell = true,
                b'v' => self.validate = true,
                b'l' => self.list = true,
                b'V' => self.version = true,
                _ => return None,
            }
        }
        Some(())
    }

    /// The request to the doorman.
    pub fn into_request(self, environment: impl Iterator<Item = (OsString, OsString)>, cwd: &[u8]) -> Request {
        let mut env: Vec<Vec<u8>> = environment
            .filter(|(name, _)| self.keeps(name.as_bytes()))
            .map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat())
            .collect();
        if !env.iter().any(|entry| entry.starts_with(b"PATH=")) {
            env.push(PATH.to_vec());
        }
        for variable in &self.variables {
            let name = variable.split_inclusive(|b| *b == b'=').next().unwrap_or_default();
            env.retain(|entry| !entry.starts_with(name));
            env.push(variable.clone());
        }
        Request {
            ask: self.validate || self.list,
            argv: self.command,
            env,
            cwd: cwd.to_vec(),
            user: self.user,
            shell: self.shell,
            login: self.login,
        }
    }

    fn keeps(&self, name: &[u8]) -> bool {
        let identity = [&b"USER"[..], b"LOGNAME", b"SHELL", b"MAIL"].contains(&name);
        match (self.keep_environment && !self.login, name) {
            (true, b"HOME") => !self.set_home,
            (true, _) => !identity,
            (false, _) => name.starts_with(b"LC_") || KEPT.iter().any(|kept| kept.as_bytes() == name),
        }
    }
}

fn is_variable(word: &[u8]) -> bool {
    let name = word.split(|b| *b == b'=').next().unwrap_or_default();
    name.len() < word.len()
        && name.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_')
        && name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Option<Options> {
        Options::parse(line.split(' ').filter(|word| !word.is_empty()).map(OsString::from))
    }

    fn words(words: &[Vec<u8>]) -> String {
        words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn options_end_where_the_command_begins() {
        let options = parse("-nEu bob FOO=1 ls -u x A=b").unwrap();
        assert_eq!((options.user.as_slice(), options.keep_environment), (&b"bob"[..], true));
        assert_eq!((words(&options.variables), words(&options.command)), ("FOO=1".into(), "ls -u x A=b".into()));
        assert_eq!(words(&parse("-H -- -x").unwrap().command), "-x");
        assert_eq!(parse("--user=ann id").unwrap().user, b"ann");
        assert_eq!(parse("-uann id").unwrap().user, b"ann");
        for good in ["-i", "-s", "-v", "-l", "-V", "-k", "-iu bob", "- x"] {
            assert!(parse(good).is_some(), "{good}");
        }
        for bad in ["", "-u", "-n", "-z id", "--what id", "-g staff id", "A=b", "--user= id"] {
            assert!(parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn the_environment_is_reset_unless_it_is_asked_for() {
        let given = || {
            ["TERM=xterm", "SECRET=1", "HOME=/h", "USER=ann", "PATH=/x", "LC_ALL=C"].into_iter().map(|entry| {
                let (name, value) = entry.split_once('=').unwrap();
                (OsString::from(name), OsString::from(value))
            })
        };
        let env = |line: &str| words(&parse(line).unwrap().into_request(given(), b"/").env);
        let path = String::from_utf8_lossy(PATH);
        assert_eq!(env("id"), format!("TERM=xterm LC_ALL=C {path}"));
        assert_eq!(env("-E id"), "TERM=xterm SECRET=1 HOME=/h PATH=/x LC_ALL=C");
        assert_eq!(env("-EH id"), "TERM=xterm SECRET=1 PATH=/x LC_ALL=C");
        assert_eq!(env("-Ei"), format!("TERM=xterm LC_ALL=C {path}"));
        assert_eq!(env("TERM=dumb id"), format!("LC_ALL=C {path} TERM=dumb"));
    }
}
