//! The hash of a file that is read on its way to somebody else.

use std::sync::{Arc, Mutex, PoisonError};

use futures::TryStreamExt;
use redrive_blob::Hashing;
use redrive_gateway_client::Outgoing;

/// What has passed, of so many bytes.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    length: u64,
    hashing: Arc<Mutex<Hashing>>,
}

impl Seen {
    /// Looks at what passes from now on.
    pub(crate) fn on(outgoing: impl Into<Outgoing>) -> (Outgoing, Self) {
        let Outgoing { length, bytes } = outgoing.into();
        let seen = Self { length, hashing: Arc::default() };
        let note = seen.clone();
        let bytes = bytes.inspect_ok(move |piece| note.update(piece));
        (Outgoing { length, bytes: Box::pin(bytes) }, seen)
    }

    fn update(&self, piece: &[u8]) {
        self.hashing.lock().unwrap_or_else(PoisonError::into_inner).update(piece);
    }

    /// The hash in hexadecimal, once everything has passed.
    pub(crate) fn hash(&self) -> Option<String> {
        let hashing = self.hashing.lock().unwrap_or_else(PoisonError::into_inner).clone();
        (hashing.bytes() == self.length).then(|| hashing.end().to_string())
    }
}
