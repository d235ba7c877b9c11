//! Intake for operators: a board of what is where, one document with its history, and what failed.

mod acts;
mod board;
mod document;
mod records;

pub(super) use acts::{change, report};
pub(super) use board::page as board;
pub(super) use document::page as document;
pub(super) use records::page as records;

use maud::{Markup, html};

/// The pages that belong together.
pub(super) fn siblings(here: &str) -> Markup {
    let link = |href: &str, text: &str| {
        let current = (href == here).then_some("page");
        html! { a href=(href) aria-current=[current] { (text) } }
    };
    html! {
        nav.siblings aria-label="Intake" {
            (link("/intake", "Board"))
            (link("/failure-records", "Failures"))
            (link("/digest", "Digest"))
            (link("/notifications", "Addresses"))
        }
    }
}
