//! For tests of workloads: run what is due in the caller's own time, and see what became of it.

use std::sync::Arc;

use redrive_model::Code;

use crate::contact::Contact;
use crate::runtime::{Worker, begin, step};
use crate::{Engine, EngineError, Result};

/// More executions than this in one go are a loop that does not end.
const MOST: u64 = 100_000;

impl Engine {
    /// Runs every job that is due, one after the other, until none is left: what waits for later, for a batch or for a
    /// target stays. Answers how many executions that were. No worker needs to be started, and none should be.
    ///
    /// The engine's own chores do not run; permanent jobs, schedules and replays do.
    pub async fn run_until_idle(&self) -> Result<u64> {
        let worker: Arc<Worker> =
            self.worker(self.handlers(), Arc::new(Contact::new(self.options().lease_ttl)));
        begin(&worker).await?;
        let mut ran = 0;
        loop {
            self.clock().correct(self.store().now().await?);
            if !step(&worker).await? {
                return Ok(ran);
            }
            ran += 1;
            if ran > MOST {
                let reason = format!(
                    "still busy after {MOST} executions: does a job reschedule itself at once for ever?"
                );
                return Err(EngineError::refused(Code::SystemTimeout, reason));
            }
        }
    }
}
