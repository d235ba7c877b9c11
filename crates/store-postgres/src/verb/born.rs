//! Jobs that are born claimed: a worker that waits is handed what is enqueued, in the statement that creates it. One round
//! trip and one version of the row; whatever is less plain goes the usual way of enqueue and claim.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use redrive_model::{JobId, LeaseToken, Target, WorkloadName, instant};
use redrive_store::{Claim, ClaimMode, Claimed, Enqueue, Lease, NewJob, StoredFacts, When};
use sqlx::Row;
use sqlx::postgres::PgRow;

use super::enqueue::{Columns, is_plain, unless_taken};
use crate::hot::Use;
use crate::row;
use crate::store::Inner;

/// Whether one statement can do it.
pub(crate) fn can_be(call: &Enqueue, claim: &Claim) -> bool {
    is_plain(call)
        && claim.mode == ClaimMode::Normal
        && !call.jobs.is_empty()
        && call.jobs.iter().all(|job| job.rejected.is_none())
}

/// Creates the jobs; those that the worker may run at once are claimed. `None` when an id was taken: then nothing was done.
pub(crate) async fn create(
    inner: &Inner,
    jobs: &[NewJob],
    lanes: &[i32],
    claim: &Claim,
) -> sqlx::Result<Option<Vec<Claimed>>> {
    let refs: Vec<&NewJob> = jobs.iter().collect();
    let targets: BTreeSet<&str> = jobs.iter().flat_map(|j| j.targets.iter()).map(Target::as_str).collect();
    let pauses: BTreeSet<String> = jobs.iter().map(|j| format!("pause/{}", j.workload)).collect();
    let pauses = pauses.into_iter().chain(["pause/".to_owned()]);
    let mut lent = inner.hot.take(Use::Write).await?;
    let made = Columns::of(&refs)
        .bind(inner.sql.enqueue_for.text(), lanes)
        .bind(room(jobs, claim))
        .bind(claim.worker.as_uuid())
        .bind(instant::add_ms(0, claim.ttl))
        .bind(pauses.collect::<Vec<_>>())
        .bind(targets.into_iter().collect::<Vec<_>>())
        .fetch_all(lent.conn())
        .await;
    let made = lent.settle(unless_taken(made))?;
    made.map(|rows| claimed(&rows, jobs)).transpose()
}

/// Which of the jobs the worker has room for, the most urgent first.
fn room(jobs: &[NewJob], claim: &Claim) -> Vec<bool> {
    let mut left = claim.limit;
    let mut of_workload: HashMap<&WorkloadName, usize> = HashMap::new();
    for want in &claim.wants {
        *of_workload.entry(&want.workload).or_default() += want.limit;
    }
    let mut of_target: HashMap<&Target, usize> = claim.rooms.iter().map(|(t, room)| (t, *room)).collect();
    let mut fits = vec![false; jobs.len()];
    let mut order: Vec<(usize, &NewJob)> = jobs.iter().enumerate().collect();
    order.sort_by_key(|(_, job)| (job.priority, job.id));
    for (n, job) in order {
        let want = claim.wants.iter().find(|want| want.workload == job.workload);
        let Some(want) = want.filter(|_| matches!(job.when, When::In(Duration::ZERO))) else { continue };
        if let Some(each) = want.per_target {
            for target in job.targets.iter() {
                if let Some(limit) = each.of(target) {
                    of_target.entry(target).or_insert(limit);
                }
            }
        }
        let full = job.targets.iter().any(|target| of_target.get(target) == Some(&0));
        let Some(own) = of_workload.get_mut(&job.workload).filter(|own| **own > 0 && left > 0 && !full)
        else {
            continue;
        };
        *own -= 1;
        left -= 1;
        for target in job.targets.iter() {
            if let Some(room) = of_target.get_mut(target) {
                *room -= 1;
            }
        }
        if let Some(fit) = fits.get_mut(n) {
            *fit = true;
        }
    }
    fits
}

/// What was claimed, in the order of the queue.
fn claimed(rows: &[PgRow], jobs: &[NewJob]) -> sqlx::Result<Vec<Claimed>> {
    let mut claimed: Vec<(u8, Claimed)> = Vec::new();
    for r in rows.iter() {
        let id = row::job(r, 0)?;
        if !r.try_get::<bool, _>(1)? {
            continue;
        }
        if let Some(job) = jobs.iter().find(|job| job.id == id) {
            claimed.push((job.priority, born(job, id, r)?));
        }
    }
    claimed.sort_by_key(|(priority, claimed)| (*priority, claimed.lease.job));
    Ok(claimed.into_iter().map(|(_, claimed)| claimed).collect())
}

fn born(job: &NewJob, id: JobId, r: &PgRow) -> sqlx::Result<Claimed> {
    let queued_at = row::at(r, 2)?;
    let facts = StoredFacts {
        attempt: 1,
        crashes: 0,
        releases: 0,
        spent: None,
        alone: false,
        probe: false,
        queued_at,
    };
    Ok(Claimed {
        lease: Lease { job: id, token: LeaseToken(1) },
        workload: job.workload.clone(),
        owner: job.owner.clone(),
        label: job.clean_label(),
        input: job.input.clone(),
        state: None,
        targets: job.targets.clone(),
        generation: 1,
        max_attempts: job.max_attempts,
        batch: None,
        facts: facts.into(),
        claimed_at: queued_at,
        expires_at: row::at(r, 3)?,
    })
}
