//! What must never get into a template: by path, by name, by content.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Beneath /etc: credentials, the identity of this host, and configuration that tends to hold either. Never copied, even
/// if /usr links to it; nothing is said about it, since nothing that a sandbox should run needs it.
const DENIED: [&str; 59] = [
    "NetworkManager",
    "apparmor.d",
    "apt",
    "audit",
    "bluetooth",
    "ceph",
    "chatscripts",
    "cloud",
    "containers",
    "cron.d",
    "cron.daily",
    "cron.hourly",
    "cron.monthly",
    "cron.weekly",
    "crontab",
    "crypttab",
    "cups",
    "davfs2",
    "default",
    "docker",
    "exim4",
    "gitconfig",
    "ipsec.d",
    "kubernetes",
    "ldap",
    "letsencrypt",
    "libaudit.conf",
    "machine-id",
    "motd",
    "mysql",
    "netplan",
    "netrc",
    "network",
    "nfs.conf",
    "npmrc",
    "openvpn",
    "pam.d",
    "pip.conf",
    "polkit-1",
    "postfix",
    "ppp",
    "printcap",
    "rancher",
    "samba",
    "security",
    "skel",
    "snmp",
    "ssh",
    "strongswan.d",
    "subgid",
    "subuid",
    "sysconfig",
    "systemd",
    "udev",
    "wgetrc",
    "wireguard",
    "wpa_supplicant",
    "yum.repos.d",
    "zfs",
];

/// The start of names beneath /etc that are denied: backups and variants included.
const DENIED_START: [&str; 10] =
    ["shadow", "gshadow", "passwd", "group", "sudo", "doas", "krb5", "ipsec.", "opasswd", "fstab"];

/// Directories that hold keys wherever they stand.
const PRIVATE_DIRECTORIES: [&str; 6] = ["private", ".ssh", ".gnupg", ".aws", ".docker", ".kube"];

/// True when a path (relative to the root, beneath etc) must not be copied.
pub(crate) fn is_denied(path: &Path) -> bool {
    let Ok(inside) = path.strip_prefix("etc") else { return true };
    let mut names = inside.components().map(|c| c.as_os_str());
    let Some(first) = names.next() else { return true };
    let first_text = first.to_string_lossy();
    DENIED.iter().any(|name| first == *name)
        || DENIED_START.iter().any(|start| first_text.starts_with(start))
        || inside.components().any(|c| PRIVATE_DIRECTORIES.iter().any(|name| c.as_os_str() == *name))
        || path.as_os_str().as_bytes().contains(&b'\n')
        || path.file_name().is_some_and(is_secret_name)
}

/// True for names that by custom belong to keys, passwords and tokens.
pub(crate) fn is_secret_name(name: &OsStr) -> bool {
    const EXACT: [&str; 29] = [
        "token",
        "password",
        "password.txt",
        "passwords.txt",
        ".vault_pass",
        ".env",
        ".netrc",
        "_netrc",
        ".pgpass",
        ".my.cnf",
        ".git-credentials",
        ".npmrc",
        "npmrc",
        ".pypirc",
        "pip.conf",
        ".dockercfg",
        ".dockerconfigjson",
        ".htpasswd",
        "credentials",
        "credentials.json",
        "credentials.ini",
        "credentials.toml",
        "credentials.yml",
        "credentials.yaml",
        "secrets.json",
        "secrets.yml",
        "secrets.yaml",
        "kubeconfig",
        "auth.json",
    ];
    const STARTS: [&str; 6] = [".env.", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".credentials"];
    const ENDS: [&str; 15] = [
        ".token",
        "-token",
        "_token",
        ".key",
        "_key",
        ".p12",
        ".pfx",
        ".jks",
        ".bcfks",
        ".keystore",
        ".keytab",
        ".kdbx",
        ".ppk",
        ".ovpn",
        ".tfstate",
    ];
    let name = name.to_string_lossy().to_lowercase();
    let public = name.ends_with(".pub");
    !public
        && (EXACT.contains(&name.as_str())
            || STARTS.iter().any(|start| name.starts_with(start))
            || ENDS.iter().any(|end| name.ends_with(end)))
}

/// Lines of vendors' own samples that look like a secret and are none, white space squeezed: openssl.cnf, Maven's
/// settings.xml, the JDK's management.properties.
const SAMPLES: [&str; 11] = [
    "# input_password = secret",
    "# output_password = secret",
    "challengePassword = A challenge password",
    "secret = pass:insta # can be used for both client and server side",
    "secret = $insta::secret # pass:insta",
    "secret = # disable PBM",
    "<password>proxypass</password>",
    "<password>repopwd</password>",
    "<passphrase>optional; leave empty if not used.</passphrase>",
    "# javax.net.ssl.keyStorePassword=<keystore-password>",
    "# javax.net.ssl.trustStorePassword=<truststore-password>",
];

/// Says what kind of secret the content seems to hold. Comments count: a password in one is still a password.
pub(crate) fn secret_in(content: &[u8]) -> Option<&'static str> {
    const MARKERS: [(&str, &str); 15] = [
        ("PRIVATE KEY", "a private key"),
        ("PuTTY-User-Key-File", "a private key"),
        ("AGE-SECRET-KEY-", "a private key"),
        ("_authToken", "a registry token"),
        ("aws_secret", "a cloud credential"),
        ("AWS_SECRET", "a cloud credential"),
        ("AKIA", "a cloud credential"),
        ("ghp_", "an access token"),
        ("github_pat_", "an access token"),
        ("glpat-", "an access token"),
        ("xoxb-", "an access token"),
        ("sk_live_", "an access token"),
        ("npm_config__auth", "a registry token"),
        ("<password>", "a password"),
        ("<passphrase>", "a password"),
    ];
    let text = String::from_utf8_lossy(content);
    // Base64 of certificates may spell a short marker by chance.
    text.lines().filter(|line| !is_base64(line.trim())).find_map(|line| {
        let marker = MARKERS.iter().find(|(marker, _)| line.contains(marker)).map(|(_, kind)| *kind);
        let found = marker.or_else(|| assigned_secret(line));
        let found = found.or_else(|| has_url_password(line).then_some("a password in a URL"));
        found.filter(|_| !is_sample(line))
    })
}

fn is_sample(line: &str) -> bool {
    let squeezed = line.split_whitespace().collect::<Vec<_>>().join(" ");
    SAMPLES.contains(&squeezed.as_str())
}

fn is_base64(line: &str) -> bool {
    line.len() >= 40 && line.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='))
}

/// `some.password = value`, `token: value` and the like; a key that only contains the word does not count.
fn assigned_secret(line: &str) -> Option<&'static str> {
    const KEYS: [(&str, &str); 9] = [
        ("password", "a password"),
        ("passwd", "a password"),
        ("passphrase", "a password"),
        ("secret", "a secret"),
        ("token", "a token"),
        ("apikey", "an API key"),
        ("api_key", "an API key"),
        ("secret_key", "a secret"),
        ("access_key", "a secret"),
    ];
    line.match_indices(['=', ':']).find_map(|(at, mark)| {
        let key = line[..at].trim_end().trim_end_matches(['"', '\'']);
        let value = line[at + mark.len()..].trim_start().trim_start_matches(['"', '\'']);
        let value = value.split(['"', '\'', ',', ';', '}', ' ']).next().unwrap_or("");
        // `passwd: files` of name services and an unset value are no secrets.
        if value.is_empty() || value == "files" {
            return None;
        }
        KEYS.iter().find(|(word, _)| ends_with_word(key, word)).map(|(_, kind)| *kind)
    })
}

fn ends_with_word(key: &str, word: &str) -> bool {
    key.len().checked_sub(word.len()).and_then(|at| key.get(at..)).is_some_and(|end| end.eq_ignore_ascii_case(word))
}

/// `scheme://user:password@host`.
fn has_url_password(line: &str) -> bool {
    line.match_indices("://").any(|(at, mark)| {
        let rest = &line[at + mark.len()..];
        let authority = rest.split(['/', ' ', '"', '\'', '<', '>']).next().unwrap_or("");
        authority.rsplit_once('@').is_some_and(|(user, _)| user.split_once(':').is_some_and(|(_, p)| !p.is_empty()))
    })
}
