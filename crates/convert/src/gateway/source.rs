//! The PDF on its way out. When the call breaks off, it is known whether the wire or our own disk was the reason.

use std::sync::{Arc, Mutex, PoisonError};

use futures::TryStreamExt;
use redrive_blob::Reading;
use redrive_engine::Failure;
use reqwest::Body;

/// What went wrong while the source was read, if anything did.
#[derive(Debug, Clone, Default)]
pub(super) struct Source(Arc<Mutex<Option<Failure>>>);

impl Source {
    /// The body, its length, and whom to ask afterwards.
    pub(super) fn of(pdf: Reading) -> (Self, Body, u64) {
        let source = Self::default();
        let length = pdf.range.end - pdf.range.start;
        let note = source.clone();
        let bytes = pdf.bytes.inspect_err(move |error| {
            *note.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.failure());
        });
        (source, Body::wrap_stream(bytes), length)
    }

    pub(super) fn failure(&self) -> Option<Failure> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
