//! The jobs: none invisible, none stuck behind something that people have forgotten.

use redrive_engine::Engine;
use redrive_store::DeadFilter;

use super::Finding;

/// So many violations are told; the rest is a number.
const TOLD: usize = 5;

pub(super) async fn examine(engine: &Engine) -> Vec<Finding> {
    let mut found = vec![audit(engine).await];
    found.extend(breakers(engine).await);
    found.extend(workers(engine).await);
    found.extend(dead(engine).await);
    found
}

async fn audit(engine: &Engine) -> Finding {
    let report = match engine.audit().await {
        Ok(report) => report,
        Err(error) => return Finding::bad("jobs", error.to_string(), "See whether the database is up."),
    };
    if report.is_clean() {
        let moved = if report.moved { "; they moved meanwhile, so counters were not compared" } else { "" };
        return Finding::good("jobs", format!("{} looked at, each in exactly one place{moved}", report.jobs));
    }
    let told = report.violations.iter().take(TOLD).map(|violation| match violation.job {
        Some(job) => format!("{job}: {}", violation.what),
        None => violation.what.clone(),
    });
    let told: Vec<String> = told.collect();
    let more = report.violations.len().saturating_sub(TOLD);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let next = "Please report this with the output of redrive doctor --json: it should not be possible.";
    Finding::bad("jobs", format!("{}{more}", told.join("; ")), next)
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
        Finding::note("dead", what, "Look at the failed jobs, mend the cause, then retry them.")
    })
}
