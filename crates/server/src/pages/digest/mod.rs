//! The digest for operators: what would be told, to whom, how it went; and the addresses.

mod addresses;
mod outlook;

pub(super) use addresses::{change, page as addresses};
pub(super) use outlook::{mail, page as outlook, send};
