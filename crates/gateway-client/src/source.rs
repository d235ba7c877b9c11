//! The PDF on its way out. When the call breaks off, it is known whether the wire or our own place was the reason.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures::TryStreamExt;
use redrive_blob::shelf::OpenItem;
use redrive_blob::{ByteStream, Reading};
use redrive_engine::Failure;
use reqwest::Body;

/// A PDF to be sent: how long it is, and its bytes.
pub struct Outgoing {
    /// So many bytes follow.
    pub length: u64,
    /// The bytes.
    pub bytes: ByteStream,
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing").field("length", &self.length).finish_non_exhaustive()
    }
}

impl From<Reading> for Outgoing {
    fn from(reading: Reading) -> Self {
        Self { length: reading.range.end - reading.range.start, bytes: reading.bytes }
    }
}

impl From<OpenItem> for Outgoing {
    fn from(open: OpenItem) -> Self {
        Self { length: open.item.bytes, bytes: open.bytes }
    }
}

/// What went wrong while the source was read, if anything did.
#[derive(Debug, Clone, Default)]
pub(crate) struct Source(Arc<Mutex<Option<Failure>>>);

impl Source {
    /// The body, its length, and whom to ask afterwards.
    pub(crate) fn of(pdf: Outgoing) -> (Self, Body, u64) {
        let source = Self::default();
        let note = source.clone();
        let bytes = pdf.bytes.inspect_err(move |error| {
            *note.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.failure());
        });
        (source, Body::wrap_stream(bytes), pdf.length)
    }

    pub(crate) fn failure(&self) -> Option<Failure> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
