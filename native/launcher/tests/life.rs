//! Sandboxes from creation to end, over a real launcher.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use common::{Launcher, id, skipped};

#[test]
fn creates_and_destroys() {
    if skipped("creates_and_destroys") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    for _ in 0..20 {
        let id = id();
        client.prepare(&[&id]);
        let created = client.create(&id);
        assert!(std::path::Path::new(&format!("/proc/{}", created.pid)).exists());
        let destroyed = client.destroy(&id);
        assert!(!destroyed.stuck);
        assert!(!std::path::Path::new(&format!("/proc/{}", created.pid)).exists());
        println!("created in {} us, lived {} us", created.setup_micros, destroyed.usage.unwrap().wall_micros);
    }
}
