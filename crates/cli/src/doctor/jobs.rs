//! The jobs: none invisible, none stuck behind something that people have forgotten.

use redrive_api::Finding;
use redrive_engine::{Engine, LEASE_OVERDUE, Violation};
use redrive_store::DeadFilter;

/// So many violations are told; the rest is a number.
const TOLD: usize = 5;

pub(super) async fn examine(engine: &Engine) -> Vec<Finding> {
    let mut found = audit(engine).await;
    found.extend(breakers(engine).await);
    found.extend(workers(engine).await);
    found.extend(dead(engine).await);
    found
}

/// What the auditor says. A lease that nobody takes back is told apart: that is how it is while no worker runs.
async fn audit(engine: &Engine) -> Vec<Finding> {
    let report = match engine.audit().await {
        Ok(report) => report,
        Err(error) => {
            return vec![Finding::bad("jobs", error.to_string(), "See whether the database is up.")];
        }
    };
    let (stuck, wrong): (Vec<&Violation>, Vec<&Violation>) =
        report.violations.iter().partition(|violation| violation.what == LEASE_OVERDUE);
    let jobs = if wrong.is_empty() {
        let moved = if report.moved { "; they moved meanwhile, so counters were not compared" } else { "" };
        Finding::good("jobs", format!("{} looked at, each in exactly one place{moved}", report.jobs))
    } else {
        let next = "Please report this with the output of redrive doctor --json: it should not be possible.";
        Finding::bad("jobs", told(&wrong), next)
    };
    let leases = if stuck.is_empty() {
        Finding::good("leases", "none has run out unnoticed")
    } else {
        let what = format!("{} ran out long ago: {}", stuck.len(), told(&stuck));
        let next = "Start redrive serve or redrive worker: it takes them back within seconds. If one runs, see its log: it may have no connection to the database.";
        Finding::bad("leases", what, next)
    };
    vec![jobs, leases]
}

fn told(violations: &[&Violation]) -> String {
    let one = |violation: &&Violation| match violation.job {
        Some(job) => format!("{job}: {}", violation.what),
        None => violation.what.clone(),
    };
    let named: Vec<String> = violations.iter().take(TOLD).map(one).collect();
    let more = violations.len().saturating_sub(TOLD);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("{}{more}", named.join("; "))
}

async fn breakers(engine: &Engine) -> Vec<Finding> {
    let (Ok(rows), Ok(now)) = (engine.store().breakers().await, engine.store().now().await) else {
        return Vec::new();
    };
    let shut = rows.iter().filter(|row| row.breaker.gate().blocked_until.is_some_and(|until| until > now));
    shut.map(|row| {
        let what = match row.breaker.is_held(now) {
            true => format!("{} is held by hand: its jobs wait", row.target),
            false => format!("{} lets nobody pass ({}): its jobs wait", row.target, row.breaker.phase_name()),
        };
        let next =
            "Nothing is lost; see what is wrong there. Work goes on by itself, or when the hold is released.";
        Finding::note("breakers", what, next)
    })
    .collect()
}

async fn workers(engine: &Engine) -> Option<Finding> {
    let (workers, now) = (engine.store().workers().await.ok()?, engine.store().now().await.ok()?);
    let alive = workers.iter().filter(|worker| worker.alive_until > now).count();
    let queued = engine.queues().await.ok()?.iter().map(|queue| queue.stats.ready).sum::<u64>();
    Some(match alive {
        0 if queued > 0 => Finding::bad(
            "workers",
            format!("none is alive, and {queued} jobs wait"),
            "Start redrive serve or redrive worker.",
        ),
        0 => Finding::note(
            "workers",
            "none is alive, and nothing waits",
            "redrive serve or redrive worker starts one.",
        ),
        alive => Finding::good("workers", format!("{alive} alive, {queued} jobs could run now")),
    })
}

async fn dead(engine: &Engine) -> Option<Finding> {
    let open = engine.store().count_dead(DeadFilter::default()).await.ok()?;
    (open > 0).then(|| {
        let what = format!("{open} dead letters wait for somebody");
        Finding::note(
            "dead",
            what,
            "Look at them by cause (redrive groups list, or the page /dead), mend it, then replay them.",
        )
    })
}
