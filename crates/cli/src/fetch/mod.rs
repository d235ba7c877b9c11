//! `redrive fetch`: what is asked for, who does it, what is told about it.
//!
//! ```text
//! URLs, or a manifest ──▶ Asked ──▶ Alone: an engine in this process, its rows under DATA_DIR/fetch ─┐
//!                               └─▶ a server that is named, or runs here                            ─┴▶ Doer ──▶ progress, report
//! ```

mod alone;
mod asked;
mod doer;
mod list;
mod progress;
mod report;
mod wrong;

pub(crate) use alone::Alone;
pub(crate) use asked::{Asked, Wish};
pub(crate) use doer::Doer;
pub(crate) use progress::follow;
pub(crate) use report::{end, failed, is_stdout, missing, report};
