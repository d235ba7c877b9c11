//! One thing that was looked at.

use serde::Serialize;

/// How it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Level {
    /// As it must be.
    Good,
    /// Worth knowing.
    Note,
    /// Wrong.
    Bad,
}

/// What was looked at, how it is, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// What was looked at.
    pub(crate) check: &'static str,
    /// How it is.
    pub(crate) level: Level,
    /// In words.
    pub(crate) what: String,
    /// The next step, where one is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

impl Finding {
    pub(crate) fn good(check: &'static str, what: impl Into<String>) -> Self {
        Self { check, level: Level::Good, what: what.into(), next: None }
    }

    pub(crate) fn note(check: &'static str, what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { check, level: Level::Note, what: what.into(), next: Some(next.into()) }
    }

    pub(crate) fn bad(check: &'static str, what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { check, level: Level::Bad, what: what.into(), next: Some(next.into()) }
    }

    /// Two lines at most, for people.
    pub(crate) fn line(&self) -> String {
        let mark = match self.level {
            Level::Good => "✓",
            Level::Note => "!",
            Level::Bad => "✗",
        };
        let next = self.next.as_ref().map(|next| format!("\n             → {next}")).unwrap_or_default();
        format!("{mark} {:<10} {}{next}", self.check, self.what)
    }
}
