//! A PDF that somebody put into a folder of ours.

use redrive_model::limits::MAX_LABEL_BYTES;
use redrive_model::{Code, JobId, LeaseToken, Timestamp};

use crate::intake::{MoveRow, Told};
use crate::{Page, Result, StoreError};

/// Where a document is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// It waits in `queue/`: for its first run or for its next.
    Waiting,
    /// An attempt has it in `pdf/`.
    Processing,
    /// It lies in `result/`.
    Done,
    /// Policy gave up, or a person cancelled: it lies in `failed/`.
    Failed,
    /// A person took it away or replaced it.
    Gone,
}

impl Stage {
    /// Every stage.
    pub const ALL: &'static [Self] = &[Self::Waiting, Self::Processing, Self::Done, Self::Failed, Self::Gone];

    /// The word in the table and in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Processing => "processing",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Gone => "gone",
        }
    }

    /// Reads the word back.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|stage| stage.as_str() == word)
    }

    /// Whether nothing more is to be done with it.
    #[must_use]
    pub const fn has_ended(self) -> bool {
        match self {
            Self::Waiting | Self::Processing => false,
            Self::Done | Self::Failed | Self::Gone => true,
        }
    }
}

/// A file that is to become a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDocument {
    /// Its id, which is also its job's.
    pub id: JobId,
    /// The place that all keys are below.
    pub root: String,
    /// Its name below the folder in which it was found.
    pub path: String,
    /// Where it lies now.
    pub key: String,
    /// What its place says about it without reading it.
    pub version: String,
    /// Its size.
    pub bytes: u64,
    /// Whose it is.
    pub owner: String,
}

/// Longest names and versions that are kept.
const MAX_KEY_BYTES: usize = 1_024;

/// Checks what is written into rows as it is.
pub fn validate_document(document: &NewDocument) -> Result<()> {
    let plain = |text: &str, most: usize| !text.is_empty() && text.len() <= most && !text.contains('\0');
    let bytes = i64::try_from(document.bytes).is_ok();
    let names = [&document.root, &document.path, &document.key, &document.version];
    if bytes && names.iter().all(|name| plain(name, MAX_KEY_BYTES)) && plain(&document.owner, MAX_LABEL_BYTES)
    {
        return Ok(());
    }
    Err(StoreError::Invalid(format!("document {} has a name that cannot be kept", document.id)))
}

/// What became of a file that was to be taken in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TakenIn {
    /// It is a document now.
    New,
    /// It was one already.
    Known,
    /// Another document that waits or runs has its key, or is on its way there: what lies there may be that one.
    Occupied(JobId),
}

/// A document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentRow {
    /// Its id, which is also its job's.
    pub id: JobId,
    /// The place that all keys are below.
    pub root: String,
    /// Its name below each of the folders.
    pub path: String,
    /// Where its PDF lies.
    pub place: String,
    /// What that place says about it without reading it.
    pub version: String,
    /// Its size.
    pub bytes: u64,
    /// Its hash in hexadecimal, once it was read.
    pub sha256: Option<String>,
    /// Whose it is.
    pub owner: String,
    /// Where it is on its way.
    pub stage: Stage,
    /// The newest attempt that took hold of it.
    pub run: LeaseToken,
    /// How often it has failed since it was taken in or started again by hand.
    pub retries: u32,
    /// Whether that was too often.
    pub exceeded: bool,
    /// Why it failed last; stays when it recovers.
    pub failure: Option<(Code, String)>,
    /// Where the report about its failure lies.
    pub report: Option<String>,
    /// What its owner was told last.
    pub told: Option<Told>,
    /// When it was taken in.
    pub created_at: Timestamp,
    /// When its row was changed last.
    pub updated_at: Timestamp,
}

/// A document in the hands of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The document.
    pub document: DocumentRow,
    /// A move of it that was not finished.
    pub open: Option<MoveRow>,
}

/// What an attempt finds when it takes hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold {
    /// It is held.
    Held(Box<Held>),
    /// A newer attempt has it.
    Lost,
    /// There is no such document.
    NotFound,
}

/// What is to be changed; what is not said stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DocumentChange {
    /// Another stage.
    pub stage: Option<Stage>,
    /// Another version and size: the file was replaced before it was taken.
    pub version: Option<(String, u64)>,
    /// Its hash.
    pub sha256: Option<String>,
    /// How often it has failed.
    pub retries: Option<u32>,
    /// Whether that was too often.
    pub exceeded: Option<bool>,
    /// Why it failed.
    pub failure: Option<(Code, String)>,
    /// Where the report lies.
    pub report: Option<String>,
}

impl DocumentChange {
    /// A change of the stage alone.
    #[must_use]
    pub fn stage(stage: Stage) -> Self {
        Self { stage: Some(stage), ..Self::default() }
    }
}

/// Which documents.
#[derive(Debug, Clone, Default)]
pub struct DocumentFilter {
    /// Below this root.
    pub root: String,
    /// Only in one of these stages; in any when there is none.
    pub stages: Vec<Stage>,
    /// Only this owner's.
    pub owner: Option<String>,
    /// Only those that have this in their path.
    pub text: Option<String>,
}

impl DocumentFilter {
    /// The stages to look at.
    #[must_use]
    pub fn stages(&self) -> &[Stage] {
        if self.stages.is_empty() { Stage::ALL } else { &self.stages }
    }

    /// The text to look for, as it is compared.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        self.text.as_ref().map(|text| text.to_lowercase())
    }
}

impl Page<DocumentRow> {
    /// The newest of several lists, each of which is as long as the page at most.
    #[must_use]
    pub fn newest(mut rows: Vec<DocumentRow>, limit: usize) -> Self {
        rows.sort_by_key(|row| std::cmp::Reverse(row.id));
        let more = rows.len() >= limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| more).map(|last| last.id.to_string());
        Self { rows, next }
    }
}
