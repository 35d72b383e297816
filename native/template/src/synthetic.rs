//! The files of /etc that are written, not copied: they say who the sandbox is and must tell nothing of the host.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::manifest::Manifest;
use crate::skeleton::Skeleton;
use crate::source::Source;
use crate::{TemplateError, USER};

const GROUP: &str = "\
root:x:0:
daemon:x:1:
bin:x:2:
sys:x:3:
adm:x:4:
tty:x:5:
disk:x:6:
mail:x:8:
shadow:x:42:
utmp:x:43:
staff:x:50:
users:x:100:
nogroup:x:65534:
sandbox:x:1000:
";

const HOSTS: &str = "\
127.0.0.1 localhost sandbox
::1 localhost ip6-localhost ip6-loopback sandbox
";

const NSSWITCH: &str = "\
passwd: files
group: files
shadow: files
hosts: files dns
networks: files
protocols: files
services: files
ethers: files
rpc: files
";

const PROFILE: &str = r#"if [ -z "${PATH-}" ]; then
  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
fi
if [ -d /opt/caisson/bin ]; then
  case ":$PATH:" in
    *:/opt/caisson/bin:*) ;;
    *) PATH=/opt/caisson/bin:$PATH ;;
  esac
fi
export PATH
if [ -n "${BASH-}" ] && [ "$BASH" != /bin/sh ] && [ -r /etc/bash.bashrc ]; then
  . /etc/bash.bashrc
fi
if [ -d /etc/profile.d ]; then
  for file in /etc/profile.d/*.sh; do
    if [ -r "$file" ]; then . "$file"; fi
  done
  unset file
fi
"#;

const BASHRC: &str = r#"[ -z "${PS1-}" ] && return
shopt -s checkwinsize
PS1='\u@\h:\w\$ '
"#;

const LOGIN_DEFS: &str = "\
MAIL_DIR /var/mail
ENV_SUPATH PATH=/opt/caisson/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
ENV_PATH PATH=/opt/caisson/bin:/usr/local/bin:/usr/bin:/bin
UMASK 022
HOME_MODE 0700
UID_MIN 1000
UID_MAX 60000
SYS_UID_MIN 100
SYS_UID_MAX 999
GID_MIN 1000
GID_MAX 60000
SYS_GID_MIN 100
SYS_GID_MAX 999
USERGROUPS_ENAB yes
ENCRYPT_METHOD YESCRYPT
";

/// Shells of which those that exist are listed in /etc/shells.
const SHELLS: [&str; 6] = ["bin/sh", "bin/bash", "bin/dash", "bin/zsh", "bin/fish", "bin/ksh"];

/// Writes them and returns their paths: a copy never stands in for one of them.
pub(crate) fn write(
    source: &Source<'_>,
    skeleton: &Skeleton,
    manifest: &mut Manifest,
) -> Result<HashSet<PathBuf>, TemplateError> {
    let shells: Vec<&str> = SHELLS.into_iter().filter(|shell| is_program(source, shell)).collect();
    manifest.watch(source, Path::new("usr/bin"));
    let files = [
        ("etc/passwd", passwd(shells.contains(&"bin/bash"))),
        ("etc/group", GROUP.to_owned()),
        ("etc/hosts", HOSTS.to_owned()),
        ("etc/hostname", format!("{USER}\n")),
        ("etc/nsswitch.conf", NSSWITCH.to_owned()),
        ("etc/resolv.conf", "# The network is off unless the policy of this sandbox opens it.\n".to_owned()),
        ("etc/timezone", "Etc/UTC\n".to_owned()),
        ("etc/environment", String::new()),
        ("etc/fstab", String::new()),
        ("etc/profile", PROFILE.to_owned()),
        ("etc/bash.bashrc", BASHRC.to_owned()),
        ("etc/bashrc", BASHRC.to_owned()),
        ("etc/login.defs", LOGIN_DEFS.to_owned()),
        ("etc/shells", shells.iter().map(|shell| format!("/{shell}\n/usr/{shell}\n")).collect()),
    ];
    let mut written = HashSet::new();
    for (path, content) in files {
        skeleton.file(path, content.as_bytes(), 0o644)?;
        written.insert(PathBuf::from(path));
    }
    for (path, target) in links(source, manifest) {
        skeleton.link(path, target)?;
        written.insert(PathBuf::from(path));
    }
    skeleton.directory("etc/profile.d", 0o755, 0)?;
    Ok(written)
}

fn passwd(bash: bool) -> String {
    let shell = if bash { "/bin/bash" } else { "/bin/sh" };
    format!(
        "root:x:0:0:root:/root:{shell}\n\
         daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n\
         bin:x:2:2:bin:/bin:/usr/sbin/nologin\n\
         nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n\
         {USER}:x:1000:1000:{USER}:/home/{USER}:{shell}\n"
    )
}

/// Links whose target exists on this host.
fn links(source: &Source<'_>, manifest: &mut Manifest) -> Vec<(&'static str, &'static str)> {
    let mut links = vec![("etc/mtab", "../proc/self/mounts")];
    let wanted: [(&str, &[&str]); 2] = [
        ("etc/localtime", &["/usr/share/zoneinfo/Etc/UTC", "/usr/share/zoneinfo/UTC"]),
        ("etc/os-release", &["/usr/lib/os-release"]),
    ];
    for (path, targets) in wanted {
        let found = targets.iter().find(|target| {
            let target = Path::new(target.trim_start_matches('/'));
            manifest.watch(source, target);
            source.stat(target).is_some()
        });
        links.extend(found.map(|target| (path, *target)));
    }
    links
}

/// True for anything at `usr/<path>`, a link included (`/bin/sh` is one).
fn is_program(source: &Source<'_>, path: &str) -> bool {
    source.stat(&Path::new("usr").join(path)).is_some()
}
