//! Makes the filters. Runs in the build script, and in tests.

pub mod policy;
pub mod program;
