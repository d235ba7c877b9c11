//! How everything is: looked at a few times a second at most, for the status and for the door.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use redrive_api::{Breaker, Queue, Status};
use redrive_engine::Input as _;
use redrive_fetch::Unpack;
use redrive_model::breaker::Mode;
use redrive_model::{Target, Timestamp};
use redrive_store::{BreakerRow, Counts, QueueStats, WorkloadQueue};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::app::App;
use crate::disk::Incoming;
use crate::own::Desk;
use crate::refusal::Refusal;
use crate::session::Visit;
use crate::upload::overloaded;

/// The target that the engine shows while there is no room.
const DISK: &str = "disk";
/// A look is good for this long.
const FRESH: Duration = Duration::from_millis(250);

/// The last look.
#[derive(Debug)]
pub(crate) struct Pulse {
    mode: Mode,
    last: Mutex<Option<(Instant, Arc<Look>)>>,
}

/// What was seen.
#[derive(Debug)]
pub(crate) struct Look {
    pub(crate) queue: QueueStats,
    /// The same by workload.
    pub(crate) queues: Vec<WorkloadQueue>,
    /// The downloads among them.
    pub(crate) fetch: QueueStats,
    /// The others.
    pub(crate) other: QueueStats,
    pub(crate) breakers: Vec<Breaker>,
    pub(crate) at: Timestamp,
}

impl Pulse {
    pub(crate) fn new(mode: Mode) -> Self {
        Self { mode, last: Mutex::default() }
    }

    /// The last look, or a new one when that is old. Whoever asks meanwhile waits for it instead of looking too.
    pub(crate) async fn look(&self, desk: &Desk) -> Result<Arc<Look>, Refusal> {
        let mut last = self.last.lock().await;
        if let Some((at, look)) = last.as_ref()
            && at.elapsed() < FRESH
        {
            return Ok(Arc::clone(look));
        }
        let (queues, rows) = (desk.workload_queues().await?, desk.breakers().await?);
        let (fetch, other) = Desk::apart(&queues);
        let (queue, counts) = ([fetch, other].into_iter().sum(), desk.lanes().await?);
        let now = desk.now().await?;
        let waiting = Waiting::of(desk, &counts);
        let breakers = rows.iter().map(|row| self.breaker(row, &waiting, now)).collect();
        let look = Arc::new(Look { queue, queues, fetch, other, breakers, at: now });
        *last = Some((Instant::now(), Arc::clone(&look)));
        Ok(look)
    }

    /// Breakers as they are now, whatever the last look was.
    pub(crate) async fn fresh(&self, desk: &Desk, rows: &[BreakerRow]) -> Result<Vec<Breaker>, Refusal> {
        let (counts, now) = (desk.lanes().await?, desk.now().await?);
        let waiting = Waiting::of(desk, &counts);
        Ok(rows.iter().map(|row| self.breaker(row, &waiting, now)).collect())
    }

    fn breaker(&self, row: &BreakerRow, waiting: &Waiting<'_>, now: Timestamp) -> Breaker {
        let breaker = &row.breaker;
        let blocked = breaker.gate().blocked_until.is_some_and(|until| until > now);
        let state = if breaker.is_held(now) {
            "held"
        } else if breaker.throttled_until.is_some_and(|until| until > now) {
            "throttled"
        } else {
            breaker.phase_name()
        };
        Breaker {
            target: row.target.to_string(),
            state: state.to_owned(),
            mode: self.mode.as_str().to_owned(),
            since: breaker.since,
            next_probe_at: breaker.next_probe_at(),
            held_jobs: if blocked { waiting.on(&row.target) } else { 0 },
        }
    }
}

/// How many jobs wait, counted once for all targets: there may be as many of them as there are hosts.
struct Waiting<'a> {
    on: HashMap<&'a Target, u64>,
    /// All but the engine's own.
    all: u64,
}

impl<'a> Waiting<'a> {
    fn of(desk: &Desk, counts: &'a Counts) -> Self {
        let mut waiting = Self { on: HashMap::new(), all: 0 };
        for lane in &counts.lanes {
            if !desk.is_own(&lane.workload) {
                waiting.all += lane.queued;
            }
            for target in lane.targets.iter() {
                *waiting.on.entry(target).or_default() += lane.queued;
            }
        }
        waiting
    }

    fn on(&self, target: &Target) -> u64 {
        // Without room nothing is claimed, whatever it depends on.
        if target.as_str() == DISK { self.all } else { self.on.get(target).copied().unwrap_or(0) }
    }
}

/// How everything is.
#[utoipa::path(get, path = "/api/status", tag = "status", responses((status = 200, body = Status)))]
pub(crate) async fn status(State(app): State<App>, visit: Visit) -> Result<Json<Status>, Refusal> {
    let look = app.pulse().look(app.desk()).await?;
    let operator = visit.known(&app).await?.is_some_and(|session| session.is_operator());
    let breakers = look.breakers.iter().filter(|breaker| operator || is_everybodys(&breaker.target));
    let queue = Queue {
        queued: look.queue.ready,
        processing: look.queue.processing,
        waiting_retry: look.queue.waiting_retry,
        waiting_batch: look.queue.waiting_batch,
        held: look.queue.held,
        oldest_age_ms: millis(look.queue.oldest_age.unwrap_or_default()),
    };
    let accepting = !*app.stopping().borrow() && accepting(&app, 0).await.is_ok();
    let (gateway, disk) = (app.mappings().state(), app.disk().look().await?);
    Ok(Json(Status { breakers: breakers.cloned().collect(), queue, accepting, gateway, disk }))
}

/// Whether a target is one that all jobs of a workload need. Which hosts somebody fetches from, and through whom, is theirs to know.
pub(crate) fn is_everybodys(target: &str) -> bool {
    !target.starts_with("host:") && !target.starts_with("proxies:")
}

/// Whether something of so many bytes may come in now.
pub(crate) async fn accepting(app: &App, coming: u64) -> Result<(), Refusal> {
    let limits = app.limits();
    let look = app.pulse().look(app.desk()).await?;
    // A manifest may be a million downloads that wait for days: that keeps nobody else out.
    let queue = look.other;
    if depth(&queue) >= limits.queue_depth {
        return Err(overloaded("Too many jobs are waiting."));
    }
    if queue.oldest_age.is_some_and(|age| age > limits.queue_age) {
        return Err(overloaded("Jobs have been waiting for too long."));
    }
    app.disk().admit(Incoming::Upload, coming).await
}

/// Whether a manifest of so many bytes may come in now.
pub(crate) async fn fetching(app: &App, coming: u64) -> Result<(), Refusal> {
    let look = app.pulse().look(app.desk()).await?;
    let (most, mut waiting) = (app.limits().fetch_depth, depth(&look.fetch));
    if waiting < most && look.queues.iter().any(|queue| queue.workload.as_str() == Unpack::WORKLOAD) {
        waiting = waiting.saturating_add(app.desk().still_packed(most - waiting).await?);
    }
    if waiting >= most {
        return Err(overloaded("Too many downloads are waiting."));
    }
    app.disk().admit(Incoming::Manifest, coming).await
}

fn depth(queue: &QueueStats) -> u64 {
    queue.ready + queue.waiting_retry + queue.scheduled + queue.held
}

fn millis(age: Duration) -> u64 {
    u64::try_from(age.as_millis()).unwrap_or(u64::MAX)
}
