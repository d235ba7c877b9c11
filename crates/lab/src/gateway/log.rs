//! Who called when, with what, and how many at once.

use std::sync::Mutex;

use tokio::time::Instant;

use super::lock;

/// One call of `/process`.
#[derive(Debug, Clone)]
pub struct Call {
    /// The hash of the file, in hexadecimal.
    pub sha256: String,
    /// The mapping that was asked for.
    pub mapping: String,
    /// The header `Idempotency-Key`.
    pub key: Option<String>,
    /// The header `Accept`.
    pub accept: Option<String>,
    /// Names of the form's files, as they were told.
    pub filename: Option<String>,
    /// When the whole request had come.
    pub began: Instant,
    /// When the answer was out, or the caller gone.
    pub ended: Option<Instant>,
}

#[derive(Debug, Default)]
struct Entries {
    calls: Vec<Call>,
    open: usize,
    most: usize,
}

/// All calls.
#[derive(Debug, Default)]
pub(super) struct Log(Mutex<Entries>);

/// A call that is being answered; dropping it ends it.
#[derive(Debug)]
pub(super) struct Open<'a> {
    log: &'a Log,
    at: usize,
}

impl Log {
    pub(super) fn begin(&self, call: Call) -> Open<'_> {
        let mut entries = lock(&self.0);
        entries.calls.push(call);
        entries.open += 1;
        entries.most = entries.most.max(entries.open);
        Open { log: self, at: entries.calls.len() - 1 }
    }

    pub(super) fn calls(&self) -> Vec<Call> {
        lock(&self.0).calls.clone()
    }

    pub(super) fn most(&self) -> usize {
        lock(&self.0).most
    }

    pub(super) fn count_anew(&self) {
        let mut entries = lock(&self.0);
        entries.most = entries.open;
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let mut entries = lock(&self.log.0);
        entries.open -= 1;
        if let Some(call) = entries.calls.get_mut(self.at) {
            call.ended = Some(Instant::now());
        }
    }
}
