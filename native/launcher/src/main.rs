//! The launcher of Caisson.
fn main() {}
