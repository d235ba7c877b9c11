//! What is told about one file.

use redrive_model::{Code, Timestamp};

use crate::shown;

/// What there is to tell about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// It failed for the first time since the digest before, and is tried again.
    New,
    /// It failed before, and again, and is tried again.
    Still,
    /// It failed before, and is done now.
    Recovered,
    /// It was given up.
    Dead,
}

impl Kind {
    /// In the order in which they are counted.
    pub const ALL: &'static [Self] = &[Self::New, Self::Still, Self::Recovered, Self::Dead];
    /// In the order in which they are told: what needs a person comes first.
    pub(super) const TOLD: &'static [Self] = &[Self::Dead, Self::New, Self::Still, Self::Recovered];

    /// `3 new failures`.
    pub(super) fn counted(self, count: u64) -> String {
        match self {
            Self::New => shown::counted(count, "new failure", "new failures"),
            Self::Still => format!("{} still failing", shown::number(count)),
            Self::Recovered => format!("{} recovered", shown::number(count)),
            Self::Dead => format!("{} given up", shown::number(count)),
        }
    }

    /// What stands above them.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::New => "New failures",
            Self::Still => "Still failing",
            Self::Recovered => "Recovered",
            Self::Dead => "Given up",
        }
    }

    /// What that means.
    pub(super) const fn meaning(self) -> &'static str {
        match self {
            Self::New => "Failed since the last digest. They are tried again by themselves.",
            Self::Still => "Failed before, and failed again. They are tried again by themselves.",
            Self::Recovered => "Failed before, and are done now. There is nothing to do.",
            Self::Dead => "Not tried again by themselves. No file is deleted.",
        }
    }
}

/// A file about which there is something to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What.
    pub kind: Kind,
    /// Its name, with the folders that its owner knows.
    pub name: String,
    /// Why it failed last, in the code that its owner may see.
    pub code: Option<Code>,
    /// How many failures were not told yet.
    pub failures: u64,
    /// When the newest of them was.
    pub last: Option<Timestamp>,
    /// Its page, below the base: `/intake/documents/42`.
    pub page: Option<String>,
}
