//! `redrive jobs cancel`: the jobs that are named, or all that wait and match, counted before anything is stopped.

use redrive_api::client::Client;
use redrive_api::{CancelJobs as Cancel, CancelledJobs, WaitingFilter};

use super::asking::each;
use super::sure::sure;
use crate::args::CancelJobs;
use crate::exit::{Exit, Stop};
use crate::say;

/// The most that the server cancels with one call.
const AT_ONCE: u64 = 100_000;

/// Whoever cancels many says of which kind they are.
pub(super) fn check(asked: &CancelJobs) -> Result<(), Stop> {
    if !asked.ids.is_empty() || asked.workload.is_some() {
        return Ok(());
    }
    let text = "say which: ids of `redrive jobs list`, or --workload for all of a kind that wait, and --status, --search, --since, --batch for fewer; nothing was cancelled";
    Err(Stop::new(Exit::Usage, text))
}

pub(super) async fn cancel(client: &Client, asked: &CancelJobs) -> Result<(), Stop> {
    if asked.ids.is_empty() { many(client, asked).await } else { named(client, asked).await }
}

async fn named(client: &Client, asked: &CancelJobs) -> Result<(), Stop> {
    let act = async |id: &str| {
        let job = if asked.dry_run { client.job(id).await? } else { client.cancel(id).await? };
        super::jobs::row(&job, asked.json)
    };
    each(&asked.ids, act).await
}

/// Those that were counted: what comes meanwhile is not meant.
async fn many(client: &Client, asked: &CancelJobs) -> Result<(), Stop> {
    let filter = WaitingFilter {
        workload: asked.workload.clone(),
        status: (!asked.status.is_empty()).then(|| asked.status.join(",")),
        q: asked.search.clone(),
        since: asked.since.map(|at| at.to_string()),
        batch: asked.batch.clone(),
    };
    let counted = client.count_waiting(&filter).await?;
    if asked.dry_run {
        if asked.json {
            return say::json(&counted);
        }
        return say::line(&format!("{} would be cancelled", jobs(counted.matching)));
    }
    if counted.matching == 0 {
        return Err(Stop::new(Exit::NotFound, "no waiting job matches, so nothing is cancelled"));
    }
    say::note(&format!("{} match; a cancelled job does not come back", jobs(counted.matching)));
    sure(asked.yes, "Cancel them?").await?;
    let mut sum = CancelledJobs { cancelled: 0, more: false };
    let mut left = counted.matching;
    while left > 0 {
        let limit = left.min(AT_ONCE);
        let (filter, reason) = (filter.clone(), asked.reason.clone());
        let how =
            Cancel { filter, upto: counted.upto.clone(), limit: Some(limit), reason, ..Cancel::default() };
        let done = client.cancel_waiting(&how).await?;
        left -= limit;
        sum = CancelledJobs { cancelled: sum.cancelled + done.cancelled, more: done.more && left > 0 };
        if !done.more {
            break;
        }
    }
    if asked.json {
        return say::json(&sum);
    }
    say::line(&format!("{} cancelled", jobs(sum.cancelled)))
}

/// One job, two jobs.
fn jobs(n: u64) -> String {
    if n == 1 { "1 job".to_owned() } else { format!("{n} jobs") }
}
