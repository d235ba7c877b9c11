//! Reads PDFs: bytes in, the [page model](crate::page) out.
//!
//! The syntax of the file is read by `hayro-syntax`, fonts partly by `hayro-font`; everything about text is ours. Nothing in
//! here panics, and everything that a file can make large has a limit: see [`Limits`].

mod annotation;
mod armour;
mod census;
pub(crate) mod content;
mod field;
mod font;
mod inspect;
mod labels;
mod layers;
mod limits;
mod matrix;
mod open;
mod read;
mod refusal;
pub(crate) mod structure;
mod text;
mod unpack;

pub use inspect::{FontProperties, Properties, inspect};
pub use limits::Limits;
pub use read::read;
pub use refusal::{Limit, Refusal};

use std::ops::RangeInclusive;

/// What is wanted of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ask {
    /// The pages, from 1; all when absent. Pages that the file does not have are not missed.
    pub pages: Option<RangeInclusive<u32>>,
    /// How much the file may ask for.
    pub limits: Limits,
}
