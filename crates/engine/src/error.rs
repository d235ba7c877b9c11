//! What can go wrong with a call to the engine.

use redrive_model::Code;
use redrive_model::name::NameError;
use redrive_store::StoreError;

/// Why the engine could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The store said no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A name cannot be used.
    #[error(transparent)]
    Name(#[from] NameError),
    /// It cannot be done as things are.
    #[error("{reason}")]
    Refused {
        /// The registry code.
        code: Code,
        /// Why, in words for people.
        reason: String,
    },
    /// The input cannot be written down.
    #[error("the input of {workload} cannot be written as JSON: {reason}")]
    Input {
        /// Which workload.
        workload: String,
        /// What serde said.
        reason: String,
    },
}

impl EngineError {
    pub(crate) fn refused(code: Code, reason: impl Into<String>) -> Self {
        Self::Refused { code, reason: reason.into() }
    }

    /// The registry code for this error.
    #[must_use]
    pub const fn code(&self) -> Code {
        match self {
            Self::Store(error) => error.code(),
            Self::Refused { code, .. } => *code,
            Self::Name(_) | Self::Input { .. } => Code::ValidationInvalidField,
        }
    }
}
