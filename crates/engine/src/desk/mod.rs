//! What people do: every act leaves a line in the audit trail that says who, with what right, what, why, by which request, what became of
//! it, and what was changed from what to what.

mod acts;
mod auditor;
mod bulk;
mod discard;
mod explain;
mod health;
mod measure;
mod replay;
mod simulate;

pub use auditor::{AuditReport, LEASE_OVERDUE, Place, Violation};
pub use bulk::BulkCancelled;
pub use discard::BulkDiscarded;
pub use explain::{Explanation, Past};
pub use health::{PermanentHealth, ReaderHealth};
pub(crate) use measure::OWN;
pub(crate) use replay::{CountingOn, Replaying, counting_on, replays_of};
pub use replay::{NewReplay, Replay, ReplayFilter, ReplayPhase, Skipped};
pub use simulate::{Simulated, simulate};

use redrive_store::{ActEnd, NewAct, Scope};

use crate::{Engine, Result};

/// Who acts, with what right, by which request, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct By {
    actor: String,
    reason: Option<String>,
    scope: Option<Scope>,
    request_id: Option<String>,
}

impl By {
    /// A person, a token's name, a program.
    pub fn new(actor: impl Into<String>) -> Self {
        Self { actor: actor.into(), reason: None, scope: None, request_id: None }
    }

    /// Says why.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Says what the operator who acts may do. One's own session and the parts of an engine have no scope.
    #[must_use]
    pub const fn scoped(mut self, scope: Scope) -> Self {
        self.scope = Some(scope);
        self
    }

    /// Says which request asked for it, by the id that its answer has.
    #[must_use]
    pub fn request(mut self, id: impl Into<String>) -> Self {
        self.request_id = Some(id.into());
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
    ///
    /// `outcome` says it in words alone, or, by [`ActEnd::from_to`], also what was changed; never with a secret.
    pub async fn acted<T, E: Into<ActEnd>>(
        &self,
        by: &By,
        action: &str,
        subject: impl Into<String>,
        act: impl Future<Output = Result<T>>,
        outcome: impl FnOnce(&T) -> E,
    ) -> Result<T> {
        let number = self.begin_act(by, action, subject).await?;
        let done = act.await;
        let end = match &done {
            Ok(value) => outcome(value).into(),
            Err(error) => format!("{}: {error}", error.code().name()).into(),
        };
        if let Err(error) = self.store().conclude_act(number, end).await {
            tracing::warn!(event = "desk.not_concluded", number, "{error}");
        }
        done
    }

    /// Says in the trail and in the log that somebody is about to do something, where another process may end it. Answers the number of the
    /// line, for whoever concludes it in the store.
    pub async fn begin_act(&self, by: &By, action: &str, subject: impl Into<String>) -> Result<i64> {
        let By { actor, reason, scope, request_id } = by.clone();
        let act =
            NewAct { actor, action: action.to_owned(), subject: subject.into(), reason, scope, request_id };
        let (scope, request_id) = (act.scope.map(Scope::as_str), act.request_id.as_deref());
        tracing::info!(
            event = "desk.act",
            actor = act.actor,
            action,
            subject = act.subject,
            scope,
            request_id
        );
        Ok(self.store().note_act(act).await?)
    }
}
