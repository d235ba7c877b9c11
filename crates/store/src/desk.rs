//! What people did, what they set, and what a job carries: small rows beside the queue.

use redrive_model::limits::{MAX_LABEL_BYTES, MAX_MESSAGE_BYTES, MAX_NAME_BYTES};
use redrive_model::{State, Timestamp, text};
use serde::{Deserialize, Serialize};

use crate::{Result, Scope, StoreError};

/// Somebody is about to do something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAct {
    /// Who: a person, a token's name, or a part of the engine. Cleaned and cut by the store.
    pub actor: String,
    /// What: a verb with what it is done to, such as `breaker.hold`.
    pub action: String,
    /// To what: a job, a target, a replay.
    pub subject: String,
    /// Why, in the person's own words. Cleaned and cut by the store.
    pub reason: Option<String>,
    /// What the operator who acts may do; `None` for a session and for a part of the engine.
    pub scope: Option<Scope>,
    /// The request that it was asked by; its answer and the log have the same id. Cleaned and cut by the store.
    pub request_id: Option<String>,
}

impl NewAct {
    /// The act as it is stored: one line each, cut to their bounds.
    #[must_use]
    pub fn cleaned(&self) -> Self {
        Self {
            actor: line(&self.actor),
            action: line(&self.action),
            subject: line(&self.subject),
            reason: said(self.reason.as_deref()),
            scope: self.scope,
            request_id: said(self.request_id.as_deref()),
        }
    }
}

/// What became of an act. It is made from words alone where nothing is known of what was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActEnd {
    /// What became of it. Cleaned and cut by the store.
    pub outcome: String,
    /// What was changed, as it was: a state, a value, never a secret. Cleaned and cut by the store.
    pub before: Option<String>,
    /// And as it is since.
    pub after: Option<String>,
}

impl ActEnd {
    /// The same with what was changed. Nothing stood there before what was made, and nothing stands there after what was removed.
    #[must_use]
    pub fn changed(self, before: Option<String>, after: Option<String>) -> Self {
        Self { before, after, ..self }
    }

    /// The same where one state became another.
    #[must_use]
    pub fn from_to(self, before: impl Into<String>, after: impl Into<String>) -> Self {
        self.changed(Some(before.into()), Some(after.into()))
    }

    /// The end as it is stored: one line each, cut to their bounds.
    #[must_use]
    pub fn cleaned(&self) -> Self {
        Self {
            outcome: text::one_line(&self.outcome, MAX_MESSAGE_BYTES, false),
            before: said(self.before.as_deref()),
            after: said(self.after.as_deref()),
        }
    }
}

impl From<String> for ActEnd {
    fn from(outcome: String) -> Self {
        Self { outcome, before: None, after: None }
    }
}

impl From<&str> for ActEnd {
    fn from(outcome: &str) -> Self {
        outcome.to_owned().into()
    }
}

fn line(words: &str) -> String {
    text::one_line(words, MAX_LABEL_BYTES, false)
}

/// What says nothing is none.
fn said(words: Option<&str>) -> Option<String> {
    words.map(line).filter(|words| !words.is_empty())
}

/// One act of the audit trail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActRow {
    /// Its place in the trail.
    pub number: i64,
    /// When it was begun.
    pub at: Timestamp,
    /// Who, what, to what and why.
    pub act: NewAct,
    /// What became of it; `None` while it goes on, or when the process ended in the middle.
    pub outcome: Option<String>,
    /// What was changed, as it was; `None` where nothing was, or where it is not known.
    pub before: Option<String>,
    /// And as it was then.
    pub after: Option<String>,
}

/// Which acts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ActFilter {
    /// Only by whoever has this in their name. ASCII letters match in either case; nothing is a wild card.
    pub actor: Option<String>,
    /// Only what begins so: `target.hold`, or `target.` for all that was done to targets.
    pub action: Option<String>,
    /// Only what was done to something with this in its name, as for the actor.
    pub subject: Option<String>,
    /// Only what was begun at or after this.
    pub since: Option<Timestamp>,
    /// Only what this request asked for.
    pub request_id: Option<String>,
}

/// A setting that was changed at run time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingRow {
    /// Its name.
    pub key: String,
    /// What it is.
    pub value: String,
    /// Who set it.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// Checks the name of a setting. Names that begin with `pause/` belong to pauses.
pub fn validate_setting(key: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_graphic() && c != '%';
    if key.is_empty() || key.len() > MAX_NAME_BYTES || !key.chars().all(plain) || key.starts_with("pause/") {
        let text =
            format!("{key:?} is no name for a setting: 1 to {MAX_NAME_BYTES} printable ASCII characters");
        return Err(StoreError::Invalid(text));
    }
    Ok(())
}

/// What a job carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// The typed input, encoded by the workload.
    pub input: Vec<u8>,
    /// The execution state that was saved last.
    pub state: Option<Vec<u8>>,
}

/// How far a job is, as its handler says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// So much is done.
    pub done: u64,
    /// Of so much, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// What is being done. Cleaned and cut by the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Progress {
    /// The words of the table.
    #[must_use]
    pub fn to_kept(&self) -> String {
        let note = self.note.as_deref().map(|note| text::one_line(note, MAX_LABEL_BYTES, false));
        serde_json::to_string(&Self { note, ..self.clone() }).unwrap_or_default()
    }

    /// Reads the words back.
    #[must_use]
    pub fn from_kept(kept: &str) -> Option<Self> {
        serde_json::from_str(kept).ok()
    }
}

/// Where the jobs of a replay are: each by how the generation that it started goes or went, whatever became of the job since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReplayCounts {
    /// Wait or run.
    pub live: u64,
    /// Completed.
    pub complete: u64,
    /// Failed again.
    pub failed: u64,
    /// Were stopped.
    pub cancelled: u64,
}

impl ReplayCounts {
    /// The count that jobs in this state belong to.
    pub const fn of(&mut self, state: State) -> &mut u64 {
        match state {
            State::Queued | State::Processing => &mut self.live,
            State::Complete => &mut self.complete,
            State::Failed => &mut self.failed,
            State::Cancelled => &mut self.cancelled,
        }
    }

    /// Those that have ended by themselves.
    #[must_use]
    pub const fn ended(&self) -> u64 {
        self.complete + self.failed
    }
}
