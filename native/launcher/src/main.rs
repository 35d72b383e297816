//! The launcher: the only part of Caisson that needs root. It makes sandboxes, hands connections to their agents and ends
//! them. `docs/launcher.md` tells how; the order here is the order of a start.

mod blank;
mod cgroup;
mod change;
mod clients;
mod confine;
mod conn;
mod create;
mod deadlines;
mod disk;
mod egress;
mod error;
mod freeze;
mod gateway;
mod group;
mod hierarchy;
mod host;
mod ids;
mod janitor;
mod journal;
mod life;
mod netlink;
mod observe;
mod outlet;
mod project;
mod request;
mod sandbox;
mod save;
mod seat;
mod server;
mod setup;
mod steer;
mod store;
mod sys;
mod tree;
mod upgrade;
mod volume;
mod worker;

use crate::error::{Doing, Error, Result};
use caisson_wire::launcher as wire;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// What all launchers of a host must agree on, wherever their own folders are: who has which host ids.
const SHARED: &str = "/run/caisson/ids";
const USAGE: &str = "usage: caisson-launcher --socket PATH --agent PATH [--state DIR] [--run DIR] [--exit-with-stdin] [--allow-uid N]… [--socket-group GID] [--exit-when-idle SECONDS] [--gateway-java HOME --gateway-jars DIR [--gateway-folder DIR] [--gateway-uid N] [--gateway-file NAME=PATH]… [--gateway-arg ARG]…]";
/// The disk that most sandboxes ask for; a few of them are kept ready.
const USUAL_DISK: disk::Shape = disk::Shape { bytes: 1 << 30, inodes: 131_072 };
/// Exit status when the host cannot do what is needed; the reason is one line of JSON on stderr.
const CANNOT: u8 = 3;

struct Options {
    socket: PathBuf,
    agent: PathBuf,
    state: PathBuf,
    run: PathBuf,
    exit_with_stdin: bool,
    allowed: Vec<u32>,
    group: Option<u32>,
    exit_when_idle: Option<Duration>,
    gateway: GatewayOptions,
    /// The state of the launcher before, which executed this program.
    resume: Option<i32>,
}

fn options(mut args: impl Iterator<Item = String>) -> std::result::Result<Options, String> {
    let (mut socket, mut agent) = (None, None);
    let mut options = Options {
        socket: PathBuf::new(),
        agent: PathBuf::new(),
        state: "/var/lib/caisson".into(),
        run: "/run/caisson".into(),
        exit_with_stdin: false,
        allowed: vec![0],
        group: None,
        exit_when_idle: None,
        gateway: GatewayOptions::default(),
        resume: None,
    };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--socket" => socket = Some(value()?.into()),
            "--agent" => agent = Some(value()?.into()),
            "--state" => options.state = value()?.into(),
            "--run" => options.run = value()?.into(),
            "--exit-with-stdin" => options.exit_with_stdin = true,
            "--allow-uid" => {
                let uid = value()?.parse().map_err(|_| "--allow-uid takes a number".to_string())?;
                options.allowed.push(uid);
            }
            "--socket-group" => {
                let gid = value()?.parse().map_err(|_| "--socket-group takes a numeric group id".to_string())?;
                options.group = Some(gid);
            }
            "--exit-when-idle" => {
                let seconds = value()?.parse().map_err(|_| "--exit-when-idle takes whole seconds".to_string())?;
                options.exit_when_idle = Some(Duration::from_secs(seconds));
            }
            "--gateway-java" => options.gateway.java = Some(value()?.into()),
            "--gateway-jars" => options.gateway.jars = Some(value()?.into()),
            "--gateway-folder" => options.gateway.folder = Some(value()?.into()),
            "--gateway-arg" => options.gateway.args.push(value()?),
            "--gateway-file" => {
                let (name, path) = gateway::file(&value()?)?;
                options.gateway.files.push((name, path));
            }
            "--gateway-uid" => {
                let uid = value()?.parse().map_err(|_| "--gateway-uid takes a number".to_string())?;
                options.gateway.uid = Some(uid);
            }
            "--resume" => {
                options.resume = Some(value()?.parse().map_err(|_| "--resume takes a number".to_string())?);
            }
            _ => return Err(format!("unknown option {arg}")),
        }
    }
    options.socket = socket.ok_or("--socket is missing")?;
    options.agent = agent.ok_or("--agent is missing")?;
    for path in [&options.socket, &options.agent, &options.state, &options.run] {
        if !path.is_absolute() {
            return Err(format!("{} is not an absolute path", path.display()));
        }
    }
    Ok(options)
}

/// Of the egress gateway; without a Java runtime and jars there is none.
#[derive(Default)]
struct GatewayOptions {
    java: Option<PathBuf>,
    jars: Option<PathBuf>,
    folder: Option<PathBuf>,
    uid: Option<u32>,
    files: Vec<(String, PathBuf)>,
    args: Vec<String>,
}

impl Options {
    fn gateway(&self) -> Option<gateway::Gateway> {
        let (java, jars) = (self.gateway.java.clone()?, self.gateway.jars.clone()?);
        let beside = || self.socket.with_file_name(journal::EGRESS);
        let mut gateway = gateway::Gateway::new(java, jars, self.gateway.folder.clone().unwrap_or_else(beside));
        gateway.group = self.group;
        gateway.uid = self.gateway.uid.unwrap_or(gateway.uid);
        gateway.files = self.gateway.files.clone();
        let uids = self.allowed.iter().flat_map(|uid| ["--allow-control-uid".to_string(), uid.to_string()]);
        // With a group the socket's mode decides, as on the launcher's own.
        let by_group = self.group.map(|_| "--control-by-group".to_string());
        gateway.args = uids.chain(by_group).chain(self.gateway.args.iter().cloned()).collect();
        Some(gateway)
    }

    /// Forks what lays the way out, when there is to be one. Before anything that it may not have.
    fn outlet(&self) -> Result<egress::Outlet> {
        let Some(gateway) = self.gateway() else { return Ok(egress::Outlet::default()) };
        let (channel, process) = outlet::fork(gateway)?;
        Ok(egress::Outlet::new(channel, Some(process), self.control()))
    }

    fn control(&self) -> String {
        self.gateway().map_or_else(String::new, |gateway| gateway.control().to_string_lossy().into_owned())
    }
}

fn main() -> ExitCode {
    // A launcher asks the program that is to come after it.
    let mut asked = std::env::args().skip(1);
    if let (Some("--can-resume"), version) = (asked.next().as_deref(), asked.next()) {
        if version.is_some_and(|v| v == upgrade::VERSION.to_string()) {
            print!("{}", upgrade::understood());
            return ExitCode::SUCCESS;
        }
        return ExitCode::from(CANNOT);
    }
    // A start script asks whether one listens already.
    let mut asked = std::env::args().skip(1);
    if let (Some("--answers"), Some(socket)) = (asked.next().as_deref(), asked.next()) {
        let answers = std::os::unix::net::UnixStream::connect(socket).is_ok();
        return if answers { ExitCode::SUCCESS } else { ExitCode::from(CANNOT) };
    }
    let options = match options(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("caisson-launcher: {message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", as_json(&error));
            ExitCode::from(CANNOT)
        }
    }
}

fn run(options: &Options) -> Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Err(Error::new(wire::ErrorKind::ErrorNotSupported, "the launcher needs root")
            .remedy("run with sudo, or install the launcher as a service and join its group"));
    }
    // SAFETY: umask has no pointers.
    unsafe { libc::umask(0o022) };
    raise_open_files();
    let signals = take_signals()?;
    for folder in [&options.run, &options.state, &PathBuf::from(SHARED)] {
        std::fs::create_dir_all(folder).doing(|| format!("make {}", folder.display()))?;
    }
    let (parts, sandboxes) = match options.resume {
        None => (begin(options, signals)?, Vec::new()),
        Some(number) => resume(options, signals, upgrade::Legacy::read(number)?)?,
    };
    // It may become the folder of a launcher that comes after.
    let parent = rustix::io::fcntl_dupfd_cloexec(&parts.socket_folder, 3).doing(|| "copy a descriptor".into())?;
    let mut server = server::Server::new(parts)?;
    server.adopt(sandboxes)?;
    let _ = writeln!(std::io::stdout(), "{}", if options.resume.is_some() { "resumed" } else { "ready" });
    let outcome = server.run();
    if let Some(name) = options.socket.file_name() {
        let _ = rustix::fs::unlinkat(&parent, name, rustix::fs::AtFlags::empty());
    }
    outcome
}

/// Prepares everything from the start.
fn begin(options: &Options, signals: OwnedFd) -> Result<server::Parts> {
    let agent = host::seal_agent(&options.agent)?;
    let own = std::env::current_exe().doing(|| "find this program".into())?;
    let (program, agent_program) = (upgrade::Program::remember(&own)?, upgrade::Program::remember(&options.agent)?);
    let sudo = std::fs::read(&options.agent).doing(|| format!("read {}", options.agent.display()))?;
    let tools = [caisson_template::Tool { name: "sudo", content: &sudo }];
    let template = caisson_template::build_host_with(&options.state.join("template"), &tools).map_err(|e| {
        Error::new(wire::ErrorKind::ErrorNotSupported, format!("the host template cannot be made: {e}"))
    })?;
    let cgroups = Arc::new(cgroup::Cgroups::open()?);
    // Before the socket is there: whatever happens from here on, the next start finds its name.
    let journal = journal::Journal::open(&options.run, &cgroups, &options.socket)?;
    cgroups.remove_empty_groups();
    let listener = listen(&options.socket, options.group)?;
    let socket_folder = open_parent(&options.socket)?;
    let outlet = options.outlet()?;
    let shared = PathBuf::from(SHARED);
    host::enter(&template.skeleton, &options.run, &[&options.state, &options.run, &shared])?;
    confine::confine()?;
    let ids = ids::Ids::open(&shared)?;
    let (snapshots, volumes) = stores(options)?;
    Ok(server::Parts {
        janitor: janitor::Janitor::start(Arc::clone(&cgroups))?,
        stock: disk::Stock::start(&options.state, USUAL_DISK)?,
        stdin: if options.exit_with_stdin { Some(stdin_copy()?) } else { None },
        groups: group::Groups::open(&options.state, Vec::new())?,
        cgroups,
        journal,
        ids,
        agent,
        listener,
        socket_folder,
        program,
        agent_program,
        signals,
        allowed: options.allowed.clone(),
        by_group: options.group.is_some(),
        state: options.state.clone(),
        degraded: template.warnings,
        outlet,
        snapshots,
        volumes,
        exit_when_idle: options.exit_when_idle,
    })
}

/// Takes over from the launcher before, which was this process: root, capabilities and filter are as it left them.
fn resume(
    options: &Options,
    signals: OwnedFd,
    mut legacy: upgrade::Legacy,
) -> Result<(server::Parts, Vec<sandbox::Sandbox>)> {
    // Executed by a descriptor, it would be called after its number.
    let _ = rustix::thread::set_name(c"caisson-launche");
    // All descriptors first: nothing else may get their numbers, which is so as long as they are open.
    let cgroups = Arc::new(cgroup::Cgroups::resume(&mut legacy)?);
    let journal = journal::Journal::resume(&mut legacy)?;
    let ids = ids::Ids::resume(Path::new(SHARED), &mut legacy)?;
    let stock = disk::Stock::resume(&options.state, USUAL_DISK, &mut legacy)?;
    let sandboxes = legacy.sandboxes(|name| stock.living(name))?;
    let old_agent = legacy.heirs.take(legacy.state.agent)?;
    let outlet = legacy.state.outlet.map(|fd| legacy.heirs.take(fd)).transpose()?;
    let mut outlet = outlet.map_or_else(egress::Outlet::default, |fd| egress::Outlet::new(fd, None, options.control()));
    outlet.find_lost(std::mem::take(&mut legacy.state.lost));
    let listener = legacy.heirs.take(legacy.state.listener)?;
    let socket_folder = legacy.heirs.take(legacy.state.socket_folder)?;
    // The agent that belongs to this version; sandboxes that live keep theirs.
    let agent = match legacy.agent.open().and_then(|f| host::seal_program(f.into(), || "load the agent".into())) {
        Ok(agent) => agent,
        Err(error) => {
            eprintln!("caisson-launcher: the agent stays as it was: {error}");
            old_agent
        }
    };
    let (snapshots, volumes) = stores(options)?;
    let parts = server::Parts {
        janitor: janitor::Janitor::start(Arc::clone(&cgroups))?,
        stdin: if options.exit_with_stdin { Some(stdin_copy()?) } else { None },
        groups: group::Groups::open(&options.state, std::mem::take(&mut legacy.state.groups))?,
        cgroups,
        journal,
        ids,
        stock,
        agent,
        listener,
        socket_folder,
        program: legacy.launcher,
        agent_program: legacy.agent,
        signals,
        allowed: options.allowed.clone(),
        by_group: options.group.is_some(),
        state: options.state.clone(),
        degraded: legacy.state.degraded,
        outlet,
        snapshots,
        volumes,
        exit_when_idle: options.exit_when_idle,
    };
    Ok((parts, sandboxes))
}

fn stores(options: &Options) -> Result<(store::Store, store::Store)> {
    Ok((
        store::Store::open(&options.state, "snapshots", "snapshot")?,
        store::Store::open(&options.state, "volumes", "volume")?,
    ))
}

/// Each sandbox takes a few descriptors.
fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let wanted = Rlimit { current: Some(1 << 20), maximum: Some(1 << 20) };
    if setrlimit(Resource::Nofile, wanted).is_err() {
        let hard = getrlimit(Resource::Nofile).maximum;
        let _ = setrlimit(Resource::Nofile, Rlimit { current: hard, maximum: hard });
    }
}

/// SIGTERM ends the launcher in order, SIGUSR2 upgrades it; SIGINT of a terminal is for the client, which closes our stdin.
fn take_signals() -> Result<OwnedFd> {
    use std::os::fd::FromRawFd;
    // SAFETY: the sets are initialised by sigemptyset; signalfd makes a descriptor that is ours.
    unsafe {
        let mut term: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut term);
        libc::sigaddset(&raw mut term, libc::SIGTERM);
        libc::sigaddset(&raw mut term, libc::SIGUSR2);
        let mut blocked = term;
        libc::sigaddset(&raw mut blocked, libc::SIGINT);
        libc::sigaddset(&raw mut blocked, libc::SIGHUP);
        libc::sigaddset(&raw mut blocked, libc::SIGPIPE);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const blocked, std::ptr::null_mut());
        let fd = libc::signalfd(-1, &raw const term, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if fd < 0 { Err(std::io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
    }
    .doing(|| "take signals".into())
}

fn open_parent(socket: &Path) -> Result<OwnedFd> {
    use rustix::fs::{Mode, OFlags};
    let parent = socket.parent().unwrap_or(Path::new("/"));
    rustix::fs::open(parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .doing(|| format!("open {}", parent.display()))
}

fn listen(path: &Path, group: Option<u32>) -> Result<OwnedFd> {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with};
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    let step = || format!("listen on {}", path.display());
    if let Some(parent) = path.parent() {
        if !parent.exists() {
            let mode = if group.is_some() { 0o755 } else { 0o700 };
            std::fs::DirBuilder::new().recursive(true).mode(mode).create(parent).doing(step)?;
        }
    }
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).doing(step)?;
    let address = SocketAddrUnix::new(path).doing(step)?;
    let _ = std::fs::remove_file(path);
    bind(&socket, &address).doing(step)?;
    // The owner alone, or the owner and one group.
    let mode = if group.is_some() { 0o660 } else { 0o600 };
    std::os::unix::fs::chown(path, None, group).doing(step)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).doing(step)?;
    listen(&socket, 512).doing(step)?;
    Ok(socket)
}

fn stdin_copy() -> Result<OwnedFd> {
    let stdin = rustix::stdio::stdin();
    let kind = rustix::fs::fstat(stdin).map(|s| rustix::fs::FileType::from_raw_mode(s.st_mode)).ok();
    let can_end = kind.is_some_and(|k| k.is_fifo() || k.is_socket()) || rustix::termios::isatty(stdin);
    if !can_end {
        return Err(Error::invalid("--exit-with-stdin needs a pipe, a socket or a terminal on standard input"));
    }
    rustix::io::fcntl_dupfd_cloexec(stdin, 3).doing(|| "take standard input".into())
}

/// One line of JSON in the error form of the API.
fn as_json(error: &Error) -> String {
    let code = match error.kind {
        wire::ErrorKind::ErrorNotSupported => "not_supported",
        wire::ErrorKind::ErrorNoCapacity => "no_capacity",
        _ => "setup_failed",
    };
    let text = |s: &str| {
        let mut out = String::from("\"");
        for c in s.chars() {
            match c {
                '"' | '\\' => out.extend(['\\', c]),
                c if c.is_control() => out.push(' '),
                c => out.push(c),
            }
        }
        out + "\""
    };
    format!(
        "{{\"error\":{{\"code\":{},\"message\":{},\"remedy\":{}}}}}",
        text(code),
        text(&error.message),
        text(&error.remedy)
    )
}
