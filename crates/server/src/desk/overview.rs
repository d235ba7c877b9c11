//! Everything at a glance: what is wrong, what happened lately, what waits, who works.
//!
//! Nothing here looks at jobs one by one: charts come from counts by minute, depths from counts by lane, dead letters from their groups.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Json;
use axum::extract::{RawQuery, State};
use redrive_api::{
    CodeFailures, Overview, OverviewQuery, OverviewSlot, Problem, Worker, WorkerSum, WorkloadDepth,
    WorkloadLatency,
};
use redrive_model::{Code, Timestamp, instant};
use redrive_store::{DeadCount, EventKind, Latencies, MinuteRow, WorkloadQueue};
use url::form_urlencoded;

use super::troubles::{self, Seen};
use super::workers;
use crate::app::App;
use crate::operator::Operator;
use crate::query;
use crate::refusal::Refusal;

/// So many slots are in every window.
const SLOTS: u32 = 60;
const MINUTE: i64 = 60_000;

/// How far to look back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Window {
    Hour,
    SixHours,
    Day,
}

impl Window {
    pub(crate) const ALL: [Self; 3] = [Self::Hour, Self::SixHours, Self::Day];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Hour => "1h",
            Self::SixHours => "6h",
            Self::Day => "24h",
        }
    }

    /// Minutes of a slot.
    const fn minutes(self) -> u32 {
        match self {
            Self::Hour => 1,
            Self::SixHours => 6,
            Self::Day => 24,
        }
    }

    /// When the first slot begins, so that the last one goes on now. Slots begin at the same instants, whenever somebody looks.
    fn since(self, now: Timestamp) -> Timestamp {
        let slot = i64::from(self.minutes()) * MINUTE;
        let last = instant::to_millis(now).div_euclid(slot) * slot;
        instant::from_millis(last - i64::from(SLOTS - 1) * slot)
    }
}

/// Everything at a glance: what is wrong, the worst first, and what happened lately.
#[utoipa::path(get, path = "/api/overview", tag = "operators", params(OverviewQuery), responses(
    (status = 200, body = Overview),
    (status = 400, description = "VALIDATION_*", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn one(
    State(app): State<App>,
    operator: Operator,
    RawQuery(asked): RawQuery,
) -> Result<Json<Overview>, Refusal> {
    Ok(Json(look(&app, operator, read(asked.as_deref())?).await?))
}

/// How far somebody wants to look back.
pub(crate) fn read(asked: Option<&str>) -> Result<Window, Refusal> {
    let mut window = None;
    for (name, value) in form_urlencoded::parse(asked.unwrap_or_default().as_bytes()) {
        match &*name {
            "window" => query::once(&mut window, &name, &value)?,
            _ => return Err(Refusal::new(Code::ValidationUnknownField, "The query can hold window.")),
        }
    }
    let Some(word) = query::given(window) else { return Ok(Window::Hour) };
    let known = Window::ALL.into_iter().find(|window| window.as_str() == word);
    known.ok_or_else(|| Refusal::field("window", "is none of 1h, 6h, 24h"))
}

/// Looks at everything.
pub(crate) async fn look(app: &App, operator: Operator, window: Window) -> Result<Overview, Refusal> {
    let desk = app.desk();
    let look = app.pulse().look(desk).await?;
    let since = window.since(look.at);
    let minutes = desk.minutes(operator, since, window.minutes()).await?;
    let (dead, behind) = (desk.dead_counts(operator).await?, desk.uncounted(operator).await?);
    let workers = sum(&workers::all(app, operator).await?);
    let paused = desk.paused(operator).await?;
    let (groups, more_groups) = desk.fresh_groups(operator).await?;
    let disk = app.disk().look().await?;
    let breakers: Vec<_> = look.breakers.iter().filter(|one| one.state != "closed").cloned().collect();
    let queues = &look.queues;
    let seen = Seen {
        at: look.at,
        workers,
        queues,
        breakers: &breakers,
        groups: &groups,
        more_groups,
        paused: &paused,
        disk,
    };
    Ok(Overview {
        at: look.at,
        troubles: troubles::of(&seen, app.limits().queue_age),
        window: window.as_str().to_owned(),
        slot_seconds: window.minutes() * 60,
        slots: slots(&minutes, since, window),
        behind,
        failures: failures(&minutes, &dead),
        latencies: latencies(&minutes),
        queues: queues.iter().map(depth).collect(),
        dead_letters: dead.iter().map(|count| count.open).sum(),
        breakers,
        workers,
        paused,
        disk,
    })
}

fn slots(rows: &[MinuteRow], since: Timestamp, window: Window) -> Vec<OverviewSlot> {
    let length = Duration::from_secs(u64::from(window.minutes()) * 60);
    let slot = |n: u32| {
        let of = || rows.iter().filter(move |row| row.slot == n);
        let jobs = |kind: EventKind| of().filter(|row| row.kind == kind).map(|row| row.jobs).sum();
        let took = Took::of(of());
        OverviewSlot {
            from: instant::after(since, length * n),
            arrived: jobs(EventKind::Queued),
            complete: jobs(EventKind::Complete),
            retried: jobs(EventKind::Retry),
            failed: jobs(EventKind::Failed),
            p50_ms: took.at(50),
            p95_ms: took.at(95),
        }
    };
    (0..SLOTS).map(slot).collect()
}

/// By public code: people know no others.
fn failures(rows: &[MinuteRow], dead: &[DeadCount]) -> Vec<CodeFailures> {
    let mut codes: BTreeMap<Code, CodeFailures> = BTreeMap::new();
    let empty = |code: Code| CodeFailures { code: code.name().to_owned(), retried: 0, failed: 0, waiting: 0 };
    for row in rows {
        let Some(code) = row.code.map(Code::public) else { continue };
        let of = codes.entry(code).or_insert_with(|| empty(code));
        match row.kind {
            EventKind::Retry | EventKind::Reclaimed => of.retried += row.jobs,
            EventKind::Failed => of.failed += row.jobs,
            EventKind::Queued
            | EventKind::Processing
            | EventKind::Snoozed
            | EventKind::Released
            | EventKind::Complete
            | EventKind::Cancelled
            | EventKind::Expired
            | EventKind::BatchEnded
            | EventKind::Published => {}
        }
    }
    for count in dead {
        let code = count.code.public();
        codes.entry(code).or_insert_with(|| empty(code)).waiting += count.open;
    }
    let mut codes: Vec<_> = codes.into_values().collect();
    codes.retain(|of| of.retried + of.failed + of.waiting > 0);
    codes.sort_by_key(|of| (std::cmp::Reverse((of.failed + of.retried, of.waiting)), of.code.clone()));
    codes
}

fn latencies(rows: &[MinuteRow]) -> Vec<WorkloadLatency> {
    let mut workloads: BTreeMap<&str, Vec<&MinuteRow>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.took_ms.is_some()) {
        workloads.entry(row.workload.as_str()).or_default().push(row);
    }
    let latency = |(workload, rows): (&str, Vec<&MinuteRow>)| {
        let took = Took::of(rows.into_iter());
        Some(WorkloadLatency {
            workload: workload.to_owned(),
            attempts: took.0.attempts(),
            p50_ms: took.at(50)?,
            p95_ms: took.at(95)?,
            p99_ms: took.at(99)?,
        })
    };
    workloads.into_iter().filter_map(latency).collect()
}

/// How long attempts took.
struct Took(Latencies);

impl Took {
    fn of<'a>(rows: impl Iterator<Item = &'a MinuteRow>) -> Self {
        let mut took = Latencies::default();
        for row in rows {
            if let Some(step) = row.took_ms {
                took.add(step, row.jobs);
            }
        }
        Self(took)
    }

    fn at(&self, percent: u32) -> Option<u64> {
        self.0.percentile(percent).map(millis)
    }
}

fn depth(queue: &WorkloadQueue) -> WorkloadDepth {
    let stats = queue.stats;
    WorkloadDepth {
        workload: queue.workload.to_string(),
        queued: stats.ready,
        processing: stats.processing,
        waiting_retry: stats.waiting_retry,
        scheduled: stats.scheduled,
        waiting_batch: stats.waiting_batch,
        held: stats.held,
        oldest_age_ms: stats.oldest_age.map(millis),
        capped: stats.capped,
    }
}

fn sum(workers: &[Worker]) -> WorkerSum {
    let mut sum = WorkerSum::default();
    for worker in workers {
        match worker.state.as_str() {
            "alive" => sum.alive += 1,
            "draining" => sum.draining += 1,
            _ => {
                sum.gone += 1;
                continue;
            }
        }
        sum.places += u64::from(worker.concurrency);
        sum.leases += worker.leases;
    }
    sum
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use redrive_model::WorkloadName;

    use super::*;

    fn row(slot: u32, kind: EventKind, code: Option<Code>, took_ms: Option<i64>, jobs: u64) -> MinuteRow {
        MinuteRow { slot, workload: WorkloadName::new("convert").unwrap(), kind, code, took_ms, jobs }
    }

    #[test]
    fn the_last_slot_is_the_one_that_goes_on() {
        let now: Timestamp = "2026-03-04T05:06:07Z".parse().unwrap();
        for window in Window::ALL {
            let slots = slots(&[], window.since(now), window);
            assert_eq!(slots.len(), 60);
            let (last, length) = (slots[59].from, Duration::from_secs(u64::from(window.minutes()) * 60));
            assert!(last <= now && now < instant::after(last, length), "{window:?}: {last}");
            assert_eq!(instant::between(slots[0].from, last), length * 59);
        }
    }

    #[test]
    fn what_happened_is_in_its_slot_and_codes_are_public_ones() {
        let rows = [
            row(0, EventKind::Queued, None, None, 7),
            row(0, EventKind::Complete, None, Some(100), 3),
            row(0, EventKind::Complete, None, Some(5_000), 1),
            row(59, EventKind::Retry, Some(Code::InvalidMapping), None, 2),
            row(59, EventKind::Failed, Some(Code::Gw4xx), None, 1),
            row(59, EventKind::Failed, Some(Code::NotPdf), None, 2),
        ];
        let window = Window::Hour;
        let slots = slots(&rows, Timestamp::UNIX_EPOCH, window);
        assert_eq!((slots[0].arrived, slots[0].complete, slots[0].failed), (7, 4, 0));
        assert!(slots[0].p50_ms.is_some_and(|ms| ms <= 100) && slots[0].p95_ms == Some(5_000));
        assert_eq!((slots[59].retried, slots[59].failed, slots[59].p50_ms), (2, 3, None));
        let dead = [DeadCount {
            workload: WorkloadName::new("convert").unwrap(),
            code: Code::GwTimeout,
            groups: 1,
            open: 9,
        }];
        let brief: Vec<_> = failures(&rows, &dead)
            .into_iter()
            .map(|of| (of.code, of.retried, of.failed, of.waiting))
            .collect();
        let expected = [
            ("GW_4XX".to_owned(), 2, 1, 0),
            ("NOT_PDF".to_owned(), 0, 2, 0),
            ("GW_TIMEOUT".to_owned(), 0, 0, 9),
        ];
        assert_eq!(brief, expected);
        let latency = latencies(&rows);
        assert_eq!((latency[0].attempts, latency[0].p99_ms), (4, 5_000));
    }

    #[test]
    fn a_window_that_cannot_be_meant_is_refused() {
        assert_eq!(read(None).unwrap(), Window::Hour);
        assert_eq!(read(Some("window=")).unwrap(), Window::Hour);
        assert_eq!(read(Some("window=24h")).unwrap(), Window::Day);
        for bad in ["window=2h", "window=1h&window=6h", "windows=1h"] {
            assert!(read(Some(bad)).is_err_and(|refusal| refusal.code().starts_with("VALIDATION_")), "{bad}");
        }
    }
}
