//! The failure registry as pages: one per code, and an overview of all.
//!
//! The registry in `redrive_model::failure` is the truth. What repeats it is generated; what explains it is written
//! by hand, and checked to be there.

mod block;
mod overview;
mod page;
mod pages;
mod words;

pub(crate) use overview::{check as check_overview, overview};
pub(crate) use pages::{check as check_pages, pages};

/// The folder of the pages.
const FOLDER: &str = "docs/failures";

/// The path of a code's page.
fn path_of(name: &str) -> String {
    format!("{FOLDER}/{name}.md")
}
