//! What must not get in. Every refusal has its positive control: the same file without the secret is copied.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{Fake, holds, warned};
use crate::secrets::secret_in;

#[test]
fn leaves_out_files_by_their_content() {
    for (secret, harmless) in [
        ("-----BEGIN RSA PRIVATE KEY-----\n", "-----BEGIN CERTIFICATE-----\n"),
        ("db.password=hunter2\n", "db.password=\n"),
        ("# password = hunter2\n", "# passwords are kept elsewhere\n"),
        ("//npm.example/:_authToken=abc\n", "//npm.example/:always\n"),
        ("aws_secret_access_key = abc\n", "aws_region = abc\n"),
        ("proxy = http://me:word@proxy.example:3128\n", "proxy = http://proxy.example:3128\n"),
        ("{\"user\":\"me\",\"password\":\"abc\"}", "{\"user\":\"me\",\"password\":\"\"}"),
        ("{ \"apiKey\": \"abc\" }\n", "{ \"apiVersion\": \"abc\" }\n"),
    ] {
        let fake = Fake::new();
        fake.file("etc/fonts/one.conf", secret);
        let template = fake.build();
        assert!(!holds(&template, "etc/fonts/one.conf"), "{secret}");
        assert!(warned(&template, "one.conf"), "{secret}");
        fake.file("etc/fonts/one.conf", harmless);
        let template = fake.build();
        assert!(holds(&template, "etc/fonts/one.conf"), "{harmless}");
        assert!(!warned(&template, "one.conf"));
    }
}

#[test]
fn finds_a_secret_at_the_end_of_a_long_file() {
    let long = "harmless line\n".repeat(100_000);
    assert_eq!(secret_in(long.as_bytes()), None);
    assert_eq!(secret_in(format!("{long}-----BEGIN PRIVATE KEY-----").as_bytes()), Some("a private key"));
}

#[test]
fn knows_the_samples_of_vendors() {
    for sample in ["# input_password = secret", "challengePassword\t\t= A challenge password", "passwd: files"] {
        assert_eq!(secret_in(sample.as_bytes()), None, "{sample}");
    }
    assert!(secret_in(b"input_password = secret2").is_some());
}

#[test]
fn leaves_out_files_that_not_everyone_may_read() {
    let fake = Fake::new();
    fake.file_mode("etc/fonts/closed.conf", "x", 0o640);
    fake.file("etc/fonts/open.conf", "x");
    fake.file("etc/closed/inner.conf", "x");
    fake.link("usr/share/inner", "/etc/closed/inner.conf");
    fs::set_permissions(fake.host("etc/closed"), fs::Permissions::from_mode(0o750)).unwrap();
    let template = fake.build();
    assert!(!holds(&template, "etc/fonts/closed.conf"));
    assert!(holds(&template, "etc/fonts/open.conf"));
    assert!(!holds(&template, "etc/closed"));
}

#[test]
fn leaves_out_known_secrets_even_if_linked() {
    let denied = [
        "shadow",
        "shadow-",
        "gshadow",
        "passwd-",
        "sudoers",
        "ssh/ssh_host_ed25519_key",
        "machine-id",
        "krb5.keytab",
        "npmrc",
        "pip.conf",
        "gitconfig",
        "fstab-old",
        "NetworkManager/one",
        "wpa_supplicant/one",
        "ssl/private/one",
        "fonts/server.key",
        "fonts/server_key",
        "fonts/id_rsa",
        "fonts/.env",
        "fonts/.netrc",
        "fonts/store.p12",
        "fonts/credentials",
        "fonts/.ssh/config",
        "fonts/token",
        "fonts/ci.token",
    ];
    let fake = Fake::new();
    for (number, path) in denied.iter().enumerate() {
        fake.file(&format!("etc/{path}"), "x");
        fake.link(&format!("usr/share/link-{number}"), &format!("/etc/{path}"));
    }
    fake.file("etc/fonts/server.crt", "x");
    fake.file("etc/fonts/id_rsa.pub", "x");
    fake.file("etc/ssl/certs/java/cacerts", "x");
    let template = fake.build();
    for path in denied {
        assert!(!holds(&template, &format!("etc/{path}")), "{path}");
    }
    for path in ["etc/fonts/server.crt", "etc/fonts/id_rsa.pub", "etc/ssl/certs/java/cacerts"] {
        assert!(holds(&template, path), "{path}");
    }
}

#[test]
fn warns_of_secrets_beneath_usr_local() {
    let fake = Fake::new();
    let key = "-----BEGIN PRIVATE KEY-----\n";
    fake.file("usr/local/app/.env", "TOKEN=1");
    fake.file("usr/local/app/tls.pem", key);
    fake.file("usr/local/app/ca.pem", "-----BEGIN CERTIFICATE-----\n");
    fake.file("usr/local/app/test/tls.pem", key);
    fake.file_mode("usr/local/app/closed.pem", key, 0o600);
    fake.file("usr/local/etc/npmrc", "_authToken=abc");
    fake.file("usr/local/lib/npmrc", "color=true");
    let template = fake.build();
    for part in ["app/.env", "app/tls.pem", "etc/npmrc"] {
        assert!(warned(&template, part), "{part}: {:?}", template.warnings);
    }
    for part in ["ca.pem", "test/", "closed.pem", "lib/npmrc"] {
        assert!(!warned(&template, part), "{part}: {:?}", template.warnings);
    }
    assert_eq!(fake.build().warnings, template.warnings, "kept with the template");
}

#[test]
fn bounds_the_warnings() {
    let fake = Fake::new();
    for number in 0..100 {
        fake.file(&format!("usr/local/app/id_rsa{number}"), "x");
        fake.file(&format!("etc/fonts/{number}.conf"), "password=x");
    }
    let template = fake.build();
    assert!((20..=60).contains(&template.warnings.len()), "{}", template.warnings.len());
    assert!(warned(&template, "there may be more"));
}

#[test]
fn keeps_a_warning_on_one_line() {
    let fake = Fake::new();
    fake.file("usr/local/a\nb\u{1b}/.env", "x");
    let template = fake.build();
    assert_eq!(template.warnings.len(), 1, "{:?}", template.warnings);
    assert!(template.warnings[0].contains("a?b?/.env"));
}
