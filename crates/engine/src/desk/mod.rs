//! What people do: every act leaves a line in the audit trail that says who, what, why and what became of it.

mod acts;
mod auditor;
mod bulk;
mod explain;
mod health;
mod measure;
mod replay;
mod simulate;

pub use auditor::{AuditReport, LEASE_OVERDUE, Place, Violation};
pub use bulk::BulkCancelled;
pub use explain::{Explanation, Past};
pub use health::{PermanentHealth, ReaderHealth};
pub use replay::{NewReplay, Replay, ReplayFilter, ReplayPhase, Skipped};
pub(crate) use replay::{Replaying, replays_of};
pub use simulate::{Simulated, simulate};

use redrive_store::NewAct;

use crate::{Engine, Result};

/// Who acts, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct By {
    actor: String,
    reason: Option<String>,
}

impl By {
    /// A person, a token's name, a program.
    pub fn new(actor: impl Into<String>) -> Self {
        Self { actor: actor.into(), reason: None }
    }

    /// Says why.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Who acts.
    #[must_use]
    pub fn actor(&self) -> &str {
        &self.actor
    }

    /// Why.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }
}

impl Engine {
    /// Does something for somebody. The trail says so before it is done, and what became of it afterwards: when the process
    /// ends in between, the line stands without an outcome.
    pub async fn acted<T>(
        &self,
        by: &By,
        action: &str,
        subject: impl Into<String>,
        act: impl Future<Output = Result<T>>,
        outcome: impl FnOnce(&T) -> String,
    ) -> Result<T> {
        let note = NewAct {
            actor: by.actor.clone(),
            action: action.to_owned(),
            subject: subject.into(),
            reason: by.reason.clone(),
        };
        tracing::info!(event = "desk.act", actor = note.actor, action, subject = note.subject);
        let number = self.store().note_act(note).await?;
        let done = act.await;
        let words = match &done {
            Ok(value) => outcome(value),
            Err(error) => format!("{}: {error}", error.code().name()),
        };
        if let Err(error) = self.store().conclude_act(number, &words).await {
            tracing::warn!(event = "desk.not_concluded", number, "{error}");
        }
        done
    }
}
