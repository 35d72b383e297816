//! What is copied although nothing in /usr links to it.

use std::path::Path;

use crate::TemplateError;
use crate::copy::Copier;
use crate::source::Source;

/// Beneath /etc, wanted wherever present; a trailing `*` matches the rest of a name.
const KNOWN: [&str; 53] = [
    "ImageMagick-*",
    "OpenCL",
    "R",
    "X11/rgb.txt",
    "adduser.conf",
    "alternatives",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "deluser.conf",
    "dotnet",
    "dpkg/origins",
    "erlang",
    "ethertypes",
    "fonts",
    "gai.conf",
    "gdb",
    "ghostscript",
    "groff",
    "host.conf",
    "inputrc",
    "iproute2",
    "java",
    "java-*",
    "julia",
    "jvm",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "lsb-release",
    "lua",
    "magic",
    "magic.mime",
    "manpath.config",
    "maven",
    "mime.types",
    "nanorc",
    "networks",
    "os-release",
    "papersize",
    "perl",
    "php",
    "pki/ca-trust",
    "pki/java",
    "pki/tls",
    "protocols",
    "python*",
    "rpc",
    "services",
    "ssl",
    "terminfo",
];

pub(crate) fn copy(source: &Source<'_>, copier: &mut Copier<'_>) -> Result<(), TemplateError> {
    let etc = Path::new("etc");
    let names = source.names(etc).map_err(|e| TemplateError::io("list", &source.show(etc), e))?;
    for known in KNOWN {
        match known.strip_suffix('*') {
            None => {
                copier.chase(&etc.join(known))?;
            }
            Some(start) => {
                for name in names.iter().filter(|name| name.to_string_lossy().starts_with(start)) {
                    copier.chase(&etc.join(name))?;
                }
            }
        }
    }
    Ok(())
}
