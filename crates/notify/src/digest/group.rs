//! The same fault in a hundred files is one cause with a count.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use redrive_model::Code;

use super::{Digest, Entry, Kind};
use crate::shown;

/// Everything of one kind.
pub(super) struct Section<'a> {
    pub(super) kind: Kind,
    pub(super) count: usize,
    pub(super) causes: Vec<Cause<'a>>,
}

/// Files that failed for the same reason.
pub(super) struct Cause<'a> {
    pub(super) code: Option<Code>,
    pub(super) count: usize,
    /// Those that are named.
    pub(super) named: Vec<&'a Entry>,
}

impl Cause<'_> {
    /// How many are counted only.
    pub(super) fn more(&self) -> usize {
        self.count.saturating_sub(self.named.len())
    }

    /// How many, and what happened: `3 files: The PDF needs a password.`
    pub(super) fn sentence(&self, kind: Kind) -> String {
        let files = shown::counted(self.count as u64, "file", "files");
        let happened = self.code.map_or("No reason is recorded.", |code| code.entry().what_happened);
        match kind {
            Kind::New | Kind::Still | Kind::Dead => format!("{files}: {happened}"),
            Kind::Recovered => format!("{files}, earlier: {happened}"),
        }
    }

    /// The next step for the owner, where there is one.
    pub(super) fn next(&self, kind: Kind) -> Option<&'static str> {
        let code = self.code?;
        match kind {
            // The registry's sentence is about a job that goes on by itself.
            Kind::Dead if code.is_retryable() => {
                Some("Try them once more; if they fail again, tell the operator.")
            }
            Kind::New | Kind::Still | Kind::Dead => Some(code.entry().what_you_can_do),
            Kind::Recovered => None,
        }
    }
}

/// The sections that have something, in the order in which they are told; causes with many files first, names in their order.
pub(super) fn sections(digest: &Digest) -> Vec<Section<'_>> {
    Kind::TOLD.iter().filter_map(|&kind| section(digest, kind)).collect()
}

fn section(digest: &Digest, kind: Kind) -> Option<Section<'_>> {
    let mut by_code: BTreeMap<Option<&'static str>, Vec<&Entry>> = BTreeMap::new();
    for entry in digest.entries.iter().filter(|entry| entry.kind == kind) {
        by_code.entry(entry.code.map(Code::name)).or_default().push(entry);
    }
    let count = by_code.values().map(Vec::len).sum();
    let mut causes: Vec<Cause<'_>> = by_code
        .into_values()
        .map(|mut entries| {
            entries.sort_by(|a, b| a.name.cmp(&b.name));
            let (code, count) = (entries.first().and_then(|entry| entry.code), entries.len());
            entries.truncate(digest.most_names);
            Cause { code, count, named: entries }
        })
        .collect();
    causes.sort_by_key(|cause| Reverse(cause.count));
    (count > 0).then_some(Section { kind, count, causes })
}
