//! A store whose n-th call of a verb goes wrong, in one of the ways in which a database across a wire goes wrong.
//!
//! It stands between an engine and a real store. `Plan` says which call and how; `Faulty` counts, and does it once.

mod plan;
mod verbs;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use plan::{Fault, Plan};
use redrive_store::{Result, Store, StoreError};

/// The real store, seen through a wire that breaks once.
pub struct Faulty {
    inner: Arc<dyn Store>,
    plan: Option<Plan>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    calls: BTreeMap<&'static str, usize>,
    happened: bool,
    /// The process behind this store is dead: nothing that it asks is heard any more.
    dead: bool,
}

/// Whether a verb changes anything: only then can a lost answer leave a doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
}

impl Faulty {
    /// Nothing goes wrong: only counts.
    #[must_use]
    pub fn counting(inner: Arc<dyn Store>) -> Self {
        Self { inner, plan: None, seen: Mutex::default() }
    }

    /// Goes wrong as planned.
    #[must_use]
    pub fn new(inner: Arc<dyn Store>, plan: Plan) -> Self {
        Self { plan: Some(plan), ..Self::counting(inner) }
    }

    /// How often each verb was called.
    pub fn calls(&self) -> BTreeMap<&'static str, usize> {
        self.seen().calls.clone()
    }

    /// Whether the planned fault has happened.
    pub fn happened(&self) -> bool {
        self.seen().happened
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the call, and says what goes wrong with it.
    fn count(&self, verb: &'static str) -> Option<Fault> {
        let mut seen = self.seen();
        if seen.dead {
            return Some(Fault::CrashBefore);
        }
        let nth = seen.calls.entry(verb).or_default();
        *nth += 1;
        let plan = self.plan.filter(|plan| plan.verb == verb && plan.nth == *nth)?;
        seen.happened = true;
        seen.dead = matches!(plan.fault, Fault::CrashBefore | Fault::CrashAfter);
        Some(plan.fault)
    }

    async fn through<T>(
        &self,
        kind: Kind,
        verb: &'static str,
        call: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let unavailable = || StoreError::Unavailable { reason: format!("{verb} was not heard") };
        match self.count(verb) {
            None => call.await,
            Some(Fault::Refused) => Err(unavailable()),
            Some(Fault::AnswerLost) => {
                let answer = call.await;
                match kind {
                    Kind::Write => {
                        Err(StoreError::Unknown { reason: format!("the answer to {verb} was lost") })
                    }
                    Kind::Read => answer.and_then(|_| Err(unavailable())),
                }
            }
            Some(Fault::Late(wait)) => {
                tokio::time::sleep(wait).await;
                call.await
            }
            Some(Fault::CrashBefore) => std::future::pending().await,
            Some(Fault::CrashAfter) => {
                drop(call.await);
                std::future::pending().await
            }
        }
    }

    /// Hints get lost with the process and never with anything else.
    async fn hint(&self, at_most: Duration) {
        if self.seen().dead {
            std::future::pending::<()>().await;
        }
        self.inner.wait_for_work(at_most).await;
    }
}
