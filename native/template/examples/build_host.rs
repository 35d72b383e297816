//! Builds the host template into the folder named on the command line and says how long it took.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let Some(cache) = std::env::args().nth(1) else {
        eprintln!("usage: build_host CACHE");
        return ExitCode::FAILURE;
    };
    let start = Instant::now();
    match caisson_template::build_host(Path::new(&cache)) {
        Ok(template) => {
            println!("{} in {:?}", template.skeleton.display(), start.elapsed());
            template.warnings.iter().for_each(|warning| println!("warning: {warning}"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
