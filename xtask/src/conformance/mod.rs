//! `docs/conformance.md`: every case of the conformance list, and the functions that test it.
//!
//! `cases.rs` is the list, `scan.rs` finds the functions, `page.rs` writes the page.

mod cases;
mod page;
mod scan;

pub(crate) use page::{check, page};
