//! What can go wrong with an artifact, told apart by what is to be done about it.
//!
//! Every error says its registry code ([`BlobError::code`]) and becomes a [`Failure`] ([`BlobError::failure`]), so that
//! the one retry loop, the engine's, can decide. Nothing below this line retries.

use std::time::Duration;

use redrive_model::{Code, Failure};

use crate::digest::Sha256;
use crate::key::{Key, KeyError};

/// A full bucket is tried again so much later: somebody has to make room.
const BUCKET_FULL: Duration = Duration::from_secs(60);

/// What was being done. Registry codes tell sending an object from the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Opening the place.
    Open,
    /// Storing something.
    Put,
    /// Reading or asking about something.
    Read,
    /// Listing.
    List,
    /// Removing.
    Delete,
}

/// What kind of place it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A folder of this machine.
    Folder,
    /// A bucket.
    Bucket,
}

/// Why a place could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BlobError {
    /// Nothing has this key.
    #[error("there is no {key}")]
    NotFound {
        /// What was looked for.
        key: Key,
    },
    /// Something else has this key. It was not touched.
    #[error("{key} exists already and is something else")]
    AlreadyExists {
        /// The key.
        key: Key,
        /// The hash of what is there.
        there: Sha256,
    },
    /// More bytes came than are allowed. Nothing of it is kept.
    #[error("it has more than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// The range lies outside of the artifact.
    #[error("the range lies outside of its {bytes} bytes")]
    Range {
        /// How many bytes there are; 0 when the place did not say.
        bytes: u64,
    },
    /// No room: the disk or the quota is full, or the reserve is reached. Not the job's fault.
    #[error("there is no room left")]
    Full,
    /// The bucket or its quota is full. Whoever runs it can help; what goes elsewhere goes on.
    #[error("the bucket is full: {reason}")]
    BucketFull {
        /// What the place said.
        reason: String,
    },
    /// The place does not let us. Waiting does not help.
    #[error("the place denies access: {reason}")]
    Denied {
        /// What was being done.
        act: Act,
        /// Where.
        place: Place,
        /// What the place said.
        reason: String,
    },
    /// The bucket does not exist. Waiting does not help.
    #[error("the bucket does not exist")]
    NoBucket,
    /// The place asks for time.
    #[error("the place asks to slow down")]
    Throttled {
        /// How long, where it said so.
        retry_after: Option<Duration>,
    },
    /// The place did not answer, or answered with a fault of its own. Trying again is right; what was asked may have
    /// happened, and asking again is safe because every put is put-once.
    #[error("the place is not available: {reason}")]
    Unavailable {
        /// What was being done.
        act: Act,
        /// Whether it took too long, rather than going wrong.
        timeout: bool,
        /// How long it asked us to wait, where it said so.
        retry_after: Option<Duration>,
        /// What happened.
        reason: String,
    },
    /// The disk failed: an input/output error, a failed sync, a file that others changed under our hands.
    #[error("the disk failed: {reason}")]
    Io {
        /// What happened.
        reason: String,
        /// The error from below.
        #[source]
        source: Option<std::io::Error>,
    },
    /// What is there is not what was stored.
    #[error("{key} is damaged: {reason}")]
    Corrupt {
        /// The key.
        key: Key,
        /// What was being done.
        act: Act,
        /// In what way.
        reason: String,
    },
    /// The name cannot be used.
    #[error("this is no usable name: {0}")]
    InvalidKey(#[from] KeyError),
    /// The settings cannot be used.
    #[error("the place cannot be opened: {reason}")]
    Settings {
        /// Which, and why.
        reason: String,
    },
}

impl BlobError {
    /// The registry code.
    #[must_use]
    pub const fn code(&self) -> Code {
        match self {
            Self::NotFound { .. } => Code::SourceMissing,
            Self::AlreadyExists { .. } => Code::UploadConflict,
            Self::TooLarge { .. } => Code::TooLarge,
            Self::Range { .. } | Self::InvalidKey(_) | Self::Settings { .. } => Code::ValidationInvalidField,
            Self::Full => Code::DiskFull,
            Self::Denied { act: Act::Put, place: Place::Bucket, .. } => Code::UploadAccessDenied,
            Self::Denied { .. } => Code::StorageAccessDenied,
            Self::NoBucket => Code::UploadNoBucket,
            Self::Throttled { .. } | Self::BucketFull { .. } => Code::UploadThrottled,
            Self::Unavailable { act: Act::Put, timeout: true, .. } => Code::UploadTimeout,
            Self::Unavailable { act: Act::Put, timeout: false, .. } => Code::UploadS3Error,
            Self::Unavailable { .. } => Code::StorageUnavailable,
            Self::Io { .. } => Code::IoError,
            Self::Corrupt { act: Act::Put, .. } => Code::UploadChecksum,
            Self::Corrupt { .. } => Code::ResultCorrupt,
        }
    }

    /// The failure a handler ends with.
    #[must_use]
    pub fn failure(&self) -> Failure {
        let mut text = self.to_string();
        if let Self::Io { source: Some(source), .. } = self {
            text = format!("{text}: {source}");
        }
        let failure = Failure::new(self.code(), text);
        match self {
            Self::Throttled { retry_after: Some(wait) }
            | Self::Unavailable { retry_after: Some(wait), .. } => failure.retry_after(*wait),
            Self::BucketFull { .. } => failure.retry_after(BUCKET_FULL),
            Self::TooLarge { limit } => failure.say(&format!("File exceeds the limit of {limit} bytes.")),
            Self::Throttled { retry_after: None }
            | Self::NotFound { .. }
            | Self::AlreadyExists { .. }
            | Self::Range { .. }
            | Self::Full
            | Self::Denied { .. }
            | Self::NoBucket
            | Self::Unavailable { retry_after: None, .. }
            | Self::Io { .. }
            | Self::Corrupt { .. }
            | Self::InvalidKey(_)
            | Self::Settings { .. } => failure,
        }
    }

    /// Whether the same call may simply be made again later.
    #[must_use]
    pub const fn is_temporary(&self) -> bool {
        match self {
            Self::Full
            | Self::BucketFull { .. }
            | Self::Throttled { .. }
            | Self::Unavailable { .. }
            | Self::Io { .. } => true,
            Self::Corrupt { act: Act::Put, .. } => true,
            Self::NotFound { .. }
            | Self::AlreadyExists { .. }
            | Self::TooLarge { .. }
            | Self::Range { .. }
            | Self::Denied { .. }
            | Self::NoBucket
            | Self::Corrupt { .. }
            | Self::InvalidKey(_)
            | Self::Settings { .. } => false,
        }
    }

    pub(crate) fn io(reason: impl Into<String>) -> Self {
        Self::Io { reason: reason.into(), source: None }
    }

    pub(crate) fn settings(reason: impl Into<String>) -> Self {
        Self::Settings { reason: reason.into() }
    }
}

#[cfg(test)]
mod tests {
    use redrive_model::failure::Class;

    use super::*;

    fn denied(act: Act, place: Place) -> BlobError {
        BlobError::Denied { act, place, reason: "no".into() }
    }

    fn away(act: Act, timeout: bool) -> BlobError {
        BlobError::Unavailable { act, timeout, retry_after: None, reason: "away".into() }
    }

    #[test]
    fn each_error_has_the_class_that_its_remedy_needs() {
        let key = || Key::parse("a").unwrap();
        let there = Sha256::of(b"");
        let corrupt = |act| BlobError::Corrupt { key: key(), act, reason: String::new() };
        for (error, code, class) in [
            (BlobError::NotFound { key: key() }, Code::SourceMissing, Class::Permanent),
            (BlobError::AlreadyExists { key: key(), there }, Code::UploadConflict, Class::Permanent),
            (BlobError::TooLarge { limit: 1 }, Code::TooLarge, Class::Permanent),
            (BlobError::Full, Code::DiskFull, Class::Environment),
            (BlobError::BucketFull { reason: "507".into() }, Code::UploadThrottled, Class::Throttled),
            (denied(Act::Put, Place::Bucket), Code::UploadAccessDenied, Class::Permanent),
            (denied(Act::Read, Place::Bucket), Code::StorageAccessDenied, Class::Permanent),
            (denied(Act::Put, Place::Folder), Code::StorageAccessDenied, Class::Permanent),
            (BlobError::NoBucket, Code::UploadNoBucket, Class::Permanent),
            (BlobError::Throttled { retry_after: None }, Code::UploadThrottled, Class::Throttled),
            (away(Act::Put, false), Code::UploadS3Error, Class::Transient),
            (away(Act::Put, true), Code::UploadTimeout, Class::Transient),
            (away(Act::Read, true), Code::StorageUnavailable, Class::Transient),
            (BlobError::io("eio"), Code::IoError, Class::Transient),
            (corrupt(Act::Put), Code::UploadChecksum, Class::Transient),
            (corrupt(Act::Read), Code::ResultCorrupt, Class::Transient),
        ] {
            assert_eq!((error.code(), error.code().entry().class), (code, class), "{error}");
            assert_eq!(error.failure().code, code);
        }
    }

    #[test]
    fn a_failure_keeps_what_the_place_asked_for_and_the_real_limit() {
        let wait = Duration::from_secs(7);
        assert_eq!(BlobError::Throttled { retry_after: Some(wait) }.failure().retry_after, Some(wait));
        let full = BlobError::BucketFull { reason: "507".into() }.failure();
        assert_eq!(full.retry_after, Some(BUCKET_FULL), "the bucket waits, and nothing else");
        let failure = BlobError::TooLarge { limit: 1_000 }.failure();
        assert_eq!(failure.public_message(), "File exceeds the limit of 1000 bytes.");
    }

    #[test]
    fn the_cause_from_below_is_in_the_failures_message() {
        let source = std::io::Error::other("sector 7");
        let failure = BlobError::Io { reason: "sync".into(), source: Some(source) }.failure();
        assert!(failure.message.contains("sync") && failure.message.contains("sector 7"), "{failure}");
    }
}
