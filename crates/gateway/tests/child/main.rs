//! The child of the tests.

fn main() {}
