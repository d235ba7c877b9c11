//! What can go wrong with a store, so that the caller knows whether to try again, to read back, or to stop.

use redrive_model::Code;
use redrive_model::name::NameError;

/// Why a store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The request itself is wrong; nothing was written.
    #[error("{0}")]
    Invalid(String),
    /// The store cannot be reached or is busy; nothing was written, trying again is right.
    #[error("the store is not available: {reason}")]
    Unavailable {
        /// What happened.
        reason: String,
    },
    /// The answer to a commit never came: it may or may not have happened. Read back before acting.
    #[error("the outcome of a commit is unknown: {reason}")]
    Unknown {
        /// What happened.
        reason: String,
    },
    /// There is no room on the store's disk; nothing was written.
    #[error("the store's disk is full")]
    Full,
    /// Something the request names does not exist.
    #[error("there is no {what}")]
    NotFound {
        /// What was looked for.
        what: String,
    },
    /// The same idempotency key was used for another request; nothing was written.
    #[error("this idempotency key was used for another request")]
    IdempotencyMismatch,
    /// The reader asked for events that retention has removed.
    #[error("events up to {oldest} are no longer kept")]
    EventsGone {
        /// The oldest event that is still there.
        oldest: redrive_model::EventSeq,
    },
    /// The stored data is damaged or of another epoch; the store refuses to go on.
    #[error("{0}")]
    Refused(String),
    /// A bug in the store.
    #[error("store bug: {0}")]
    Internal(String),
}

impl StoreError {
    /// The registry code for this error.
    #[must_use]
    pub const fn code(&self) -> Code {
        match self {
            Self::Invalid(_) => Code::ValidationInvalidField,
            Self::Unavailable { .. } | Self::Unknown { .. } | Self::Refused(_) => Code::SystemUnavailable,
            Self::Full => Code::DiskFull,
            Self::NotFound { .. } => Code::NotFound,
            Self::IdempotencyMismatch => Code::IdempotencyMismatch,
            Self::EventsGone { .. } => Code::EventsGone,
            Self::Internal(_) => Code::SystemInternal,
        }
    }

    /// Whether the same call may simply be made again.
    #[must_use]
    pub const fn is_temporary(&self) -> bool {
        match self {
            Self::Unavailable { .. } | Self::Full => true,
            Self::Invalid(_)
            | Self::Unknown { .. }
            | Self::NotFound { .. }
            | Self::IdempotencyMismatch
            | Self::EventsGone { .. }
            | Self::Refused(_)
            | Self::Internal(_) => false,
        }
    }
}

impl From<NameError> for StoreError {
    fn from(error: NameError) -> Self {
        Self::Invalid(error.to_string())
    }
}
