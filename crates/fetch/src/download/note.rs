//! What an attempt leaves for the next one.
//!
//! The bytes lie in the place's own temp, marked; the note lies with the job and says what they are. That is the simple way: no second
//! copy of the bytes, nothing to sync, and a note whose bytes are gone or damaged (another machine, a power cut) is a download
//! from the beginning.

use futures::future::BoxFuture;
use redrive_blob::Mark;
use redrive_engine::Failure;
use serde::{Deserialize, Serialize};

use super::head::Head;

/// How far a download is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) mark: Mark,
    pub(crate) head: Head,
    /// Everything is there and was checked: only the place has not taken it yet.
    #[serde(default)]
    pub(crate) whole: bool,
}

/// Whoever keeps notes.
pub(crate) trait Notes: Sync {
    /// Durable when this returns. An error ends the attempt.
    fn note<'a>(&'a self, note: &'a Note) -> BoxFuture<'a, Result<(), Failure>>;
}
