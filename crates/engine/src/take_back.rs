//! Leases of processes that are certainly gone.

use redrive_model::{Outcome, Policy, Shown, WorkerId, decide};
use redrive_store::{Finish, Finished, JobFilter, PageRequest};

use crate::{Engine, Result, ids};

impl Engine {
    /// Gives back what anybody still holds, uncharged like a drain: for whoever knows that nobody else works on this store, as the
    /// only process of an SQLite file does when it has just opened it. Without this its jobs come back when their leases run out,
    /// and each counts as a crash. Answers how many there were.
    pub async fn take_back(&self) -> Result<u64> {
        let store = self.store();
        let now = store.now().await?;
        let mut back = 0;
        for worker in self.holders().await? {
            let mut finishes = Vec::new();
            for claimed in store.leases_of(worker).await? {
                let policy = self.policy_of(&claimed.workload).unwrap_or_else(Policy::reliability);
                let decision = decide(Outcome::Released, &claimed.facts, &policy, now, ids::draw());
                finishes.push(Finish::decided(
                    claimed.lease,
                    &claimed.workload,
                    &policy,
                    decision,
                    None,
                    None,
                ));
            }
            let finished = store.finish(finishes).await?;
            back += finished.iter().filter(|done| matches!(done, Finished::Recorded(_))).count() as u64;
        }
        Ok(back)
    }

    /// Whoever holds a job. One that was gone before its first beat is in no list of workers.
    async fn holders(&self) -> Result<Vec<WorkerId>> {
        let filter = JobFilter { shown: vec![Shown::Processing], ..JobFilter::default() };
        let (mut holders, mut cursor) = (Vec::new(), None);
        loop {
            let page = self.store().jobs(filter.clone(), PageRequest { limit: 200, cursor }).await?;
            for holder in page.rows.iter().filter_map(|row| row.leased_by) {
                if !holders.contains(&holder) {
                    holders.push(holder);
                }
            }
            cursor = page.next;
            if cursor.is_none() {
                return Ok(holders);
            }
        }
    }
}
