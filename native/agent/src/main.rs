//! The agent of Caisson.
fn main() {}
