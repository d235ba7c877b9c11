//! Finding out whether a target is well again: exactly one trial call in the whole fleet, made by the oldest held job.
//!
//! A job that waits for several open targets tries them all at once, as soon as each of them may be tried: else each would wait
//! for the other for ever.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use redrive_model::breaker::{Breaker, Phase, Probe};
use redrive_model::{Target, TargetSet, Timestamp};
use redrive_store::{BreakerRow, Claim, ClaimMode, Claimed, LaneCount, Want};

use super::breakers::{Heard, change, probe_ended};
use super::{Worker, attempt, give_held_back, give_up, level};
use crate::ids;

/// While some breaker is open it is looked at so often.
const OFTEN: Duration = Duration::from_millis(500);
/// Else so often.
const SELDOM: Duration = Duration::from_secs(2);
/// So many sets of targets are tried for one target in one look.
const MOST_SETS: usize = 4;

pub(crate) async fn run(worker: Arc<Worker>) {
    let mut wait = OFTEN;
    loop {
        tokio::select! {
            () = tokio::time::sleep(wait.mul_f64(0.8 + 0.4 * ids::fraction())) => {}
            () = worker.draining.cancelled() => return,
        }
        wait = match look(&worker).await {
            Ok(true) => OFTEN,
            Ok(false) => SELDOM,
            Err(error) => {
                tracing::debug!(event = "breaker.look_failed", "{error}");
                SELDOM
            }
        };
    }
}

/// Looks at all breakers; answers whether one of them is not closed.
pub(crate) async fn look(worker: &Arc<Worker>) -> redrive_store::Result<bool> {
    let rows = worker.store.breakers().await?;
    let now = worker.store.now().await?;
    worker.breakers.learn(&rows, now);
    level::show(&rows);
    give_held_back(worker).await;
    give_up::run(worker, &rows, now).await?;
    // Whoever takes nothing leaves the trial to others.
    if worker.takes_nothing() || !rows.iter().any(|row| row.breaker.next_probe_at().is_some()) {
        return Ok(false);
    }
    let free = |row: &&BreakerRow| {
        row.breaker.next_probe_at().is_some_and(|at| at <= now) && !row.breaker.is_held(now)
    };
    let mut due: BTreeSet<&Target> = rows.iter().filter(free).map(|row| &row.target).collect();
    if due.is_empty() {
        return Ok(true);
    }
    // Without a job that waits for it nobody asks.
    let lanes = worker.store.counts().await?.lanes;
    let known = lanes.iter().filter(|lane| lane.queued > 0 && worker.registry.get(&lane.workload).is_some());
    let waiting = by_target(known, &due);
    let shut = |row: &&BreakerRow| row.breaker.gate().blocked_until.is_some_and(|until| until > now);
    let shut: BTreeSet<&Target> = rows.iter().filter(shut).map(|row| &row.target).collect();
    for (target, lanes) in waiting {
        if !due.contains(target) {
            continue;
        }
        let sets = sets(target, &lanes, &due, &shut);
        for tried in probe(worker, sets).await?.iter() {
            due.remove(tried);
        }
    }
    Ok(true)
}

/// What waits for each of these targets.
fn by_target<'a>(
    lanes: impl Iterator<Item = &'a LaneCount>,
    due: &BTreeSet<&'a Target>,
) -> BTreeMap<&'a Target, Vec<&'a LaneCount>> {
    let mut waiting: BTreeMap<&Target, Vec<&LaneCount>> = BTreeMap::new();
    for lane in lanes {
        for target in lane.targets.iter().filter(|target| due.contains(target)) {
            waiting.entry(target).or_default().push(lane);
        }
    }
    waiting
}

/// The sets of shut targets that some job which waits for this one waits for, the smallest first, where all of them may be
/// tried.
fn sets(
    target: &Target,
    lanes: &[&LaneCount],
    due: &BTreeSet<&Target>,
    shut: &BTreeSet<&Target>,
) -> Vec<TargetSet> {
    let of = |lane: &&LaneCount| {
        let others = lane.targets.iter().filter(|of| *of != target && shut.contains(of));
        let all: Vec<Target> = others.chain([target]).cloned().collect();
        all.iter().all(|of| due.contains(of)).then(|| TargetSet::new(all).ok())?
    };
    let mut sets: Vec<TargetSet> = lanes.iter().filter_map(of).collect();
    sets.sort_by_key(|set| (set.iter().count(), set.key()));
    sets.dedup();
    sets.truncate(MOST_SETS);
    sets
}

/// Tries one of these sets, the first of which a job can be had. Answers the targets whose probes were taken.
async fn probe(worker: &Arc<Worker>, sets: Vec<TargetSet>) -> redrive_store::Result<TargetSet> {
    let mut probes: Vec<(Target, Probe)> = Vec::new();
    let mut claimed = Ok(None);
    for set in sets {
        if !take(worker, &set, &mut probes).await? {
            continue;
        }
        claimed = claim(worker, set).await;
        if !matches!(claimed, Ok(None)) {
            break;
        }
    }
    let taken = TargetSet::new(probes.iter().map(|(target, _)| target.clone())).unwrap_or_default();
    let claimed = match claimed {
        Ok(claimed) => claimed,
        Err(error) => {
            free(worker, probes).await;
            return Err(error);
        }
    };
    // What waited was taken or cancelled meanwhile, or is not due: after a breath somebody tries again.
    let Some((claimed, set)) = claimed else {
        free(worker, probes).await;
        return Ok(taken);
    };
    let (tried, rest): (Vec<_>, Vec<_>) = probes.into_iter().partition(|(target, _)| set.contains(target));
    free(worker, rest).await;
    tracing::info!(event = "breaker.probe", target = %set.key(), job_id = %claimed.lease.job, "one job tries the target");
    worker.breakers.put_probes(claimed.lease, tried);
    let started = worker.slots.start_now(claimed, &worker.registry);
    tokio::spawn(attempt::run_on(worker.clone(), started));
    Ok(taken)
}

/// Takes the probes of these targets, in their order, beside those that were taken. Answers whether all of them are ours.
async fn take(
    worker: &Worker,
    set: &TargetSet,
    probes: &mut Vec<(Target, Probe)>,
) -> redrive_store::Result<bool> {
    for target in set.iter() {
        if probes.iter().any(|(taken, _)| taken == target) {
            continue;
        }
        let config = (worker.options.breaker)(target);
        let start = |breaker: &mut Breaker, now: Timestamp| breaker.start_probe(&config, now, worker.id);
        // Somebody else may have been faster: the right is what the row says.
        match change(&*worker.store, target, start).await {
            Ok((Some(probe), breaker)) if is_ours(&breaker, &probe) => probes.push((target.clone(), probe)),
            Ok(_) => return Ok(false),
            Err(error) => {
                free(worker, std::mem::take(probes)).await;
                return Err(error);
            }
        }
    }
    Ok(true)
}

/// One job that tries these targets.
async fn claim(worker: &Worker, set: TargetSet) -> redrive_store::Result<Option<(Claimed, TargetSet)>> {
    let claim = Claim {
        worker: worker.id,
        wants: worker.registry.names().into_iter().map(|workload| Want::new(workload, 1)).collect(),
        limit: 1,
        ttl: worker.options.lease_ttl,
        mode: ClaimMode::Probe(set.clone()),
        rooms: Vec::new(),
    };
    let claimed = worker.store.claim(claim).await?.into_iter().next();
    Ok(claimed.map(|claimed| (claimed, set)))
}

/// Gives back probes that nobody made.
async fn free(worker: &Worker, probes: Vec<(Target, Probe)>) {
    for (target, probe) in probes {
        probe_ended(worker, &target, probe, Heard::NOTHING).await;
    }
}

fn is_ours(breaker: &Breaker, probe: &Probe) -> bool {
    matches!(&breaker.phase, Phase::HalfOpen { probe: at } if at == probe)
}
