//! Exit codes, and the one line that goes with them.

use std::process::ExitCode;

use redrive_store::StoreError;

/// How a command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// Failed.
    Failed = 1,
    /// Called wrongly, or with settings that cannot be used.
    Usage = 2,
    /// Nothing of that name.
    NotFound = 3,
    /// Not allowed.
    NotAllowed = 4,
    /// In conflict with something else, or not ready.
    Conflict = 5,
    /// No server answers.
    Unreachable = 6,
    /// Finished, but some jobs failed.
    SomeFailed = 7,
    /// Interrupted.
    Interrupted = 130,
}

impl Exit {
    /// Of several things that could not be done the worst is told by the exit code.
    pub(crate) const fn badness(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::SomeFailed => 1,
            Self::NotFound => 2,
            Self::Conflict => 3,
            Self::Usage => 4,
            Self::NotAllowed => 5,
            Self::Failed => 6,
            Self::Unreachable => 7,
            Self::Interrupted => 8,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command stopped.
#[derive(Debug)]
pub(crate) struct Stop {
    exit: Exit,
    message: String,
}

impl Stop {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into() }
    }

    /// How it ends.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// The same, saying what it is about.
    pub(crate) fn about(self, what: &str) -> Self {
        Self {
            message: format!("{}: {}", redrive_model::text::one_line(what, 64, false), self.message),
            ..self
        }
    }

    /// Why.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Says why, in one line on stderr.
    pub(crate) fn report(self) -> ExitCode {
        crate::say::note(&self.message);
        self.exit.into()
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        let exit = match error {
            StoreError::Refused(_) => Exit::Conflict,
            _ => Exit::Failed,
        };
        Self::new(exit, error.to_string())
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Self::new(Exit::Failed, error.to_string())
    }
}
