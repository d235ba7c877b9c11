//! A job's events and attempts tell the same story as its row, and every step of it is a legal move.

use std::time::{Duration, Instant};

use redrive_model::decide::Requeue;
use redrive_model::state::{Move, may_move};
use redrive_model::{JobId, Rule, State};
use redrive_store::{AttemptRow, Event, EventKind, JobRow, Store};

use super::Audit;

/// How long a store may take to show the events of what it has answered.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) async fn check(audit: Audit, store: &dyn Store, row: &JobRow) {
    let attempts = store.attempts(row.id).await.unwrap();
    if audit.events {
        let events = settled(store, row).await;
        if audit.attempts {
            same_story(row, &events, &attempts);
        }
    }
    if audit.attempts {
        numbers(row, &attempts);
    }
}

/// The job's events, once they say what the row says.
async fn settled(store: &dyn Store, row: &JobRow) -> Vec<Event> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let events = store.job_events(row.id).await.unwrap();
        let told = fold(row.id, &events);
        // The claim writes no event of its own: a job that runs is told as queued until its attempt ends.
        let state = if row.state == State::Processing { State::Queued } else { row.state };
        if told == Some(Told { state, generation: row.generation, expired: row.expired_at.is_some() }) {
            return events;
        }
        assert!(
            Instant::now() < deadline,
            "events fold to {told:?}, the row says {row:#?}, events {events:#?}"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Told {
    state: State,
    generation: u32,
    expired: bool,
}

/// Plays the events of a job. Panics at the first one that is no legal move.
fn fold(job: JobId, events: &[Event]) -> Option<Told> {
    let mut told: Option<Told> = None;
    let mut before = None;
    for event in events {
        assert_eq!(event.job, Some(job), "another job's event: {event:#?}");
        assert!(before < Some(event.seq), "sequence numbers must grow: {event:#?}");
        before = Some(event.seq);
        let now = told.map(|t| t.state);
        if event.kind == EventKind::Expired {
            let expired = told.filter(|t| t.state == State::Complete && !t.expired);
            assert!(expired.is_some(), "only a complete job expires, and once: {events:#?}");
            told = expired.map(|t| Told { expired: true, ..t });
            continue;
        }
        let (state, moves) = step(now, event.kind);
        let legal = moves.iter().any(|&why| may_move(now, why, state));
        assert!(legal, "{now:?} -> {state:?} by {:?} is not legal: {events:#?}", event.kind);
        let generation = match (now, event.kind) {
            (Some(State::Failed), EventKind::Queued) => told.map_or(1, |t| t.generation + 1),
            _ => told.map_or(1, |t| t.generation),
        };
        assert_eq!(event.generation, generation, "the generation of {event:#?}");
        told = Some(Told { state, generation, expired: false });
    }
    told
}

/// Where an event leads, and which moves can have written it.
fn step(from: Option<State>, kind: EventKind) -> (State, &'static [Move]) {
    match kind {
        EventKind::Queued => (State::Queued, &[Move::Enqueue, Move::Reschedule, Move::RetryByHand]),
        EventKind::Processing => (State::Processing, &[Move::Claim]),
        EventKind::Retry => (State::Queued, &[Move::Retry]),
        EventKind::Snoozed => (State::Queued, &[Move::Snooze, Move::AwaitBatch]),
        EventKind::Released => (State::Queued, &[Move::Release, Move::ProbeRefund]),
        EventKind::Reclaimed => (State::Queued, &[Move::Reclaim]),
        EventKind::Complete => (State::Complete, &[Move::Complete]),
        EventKind::Failed => (State::Failed, &[Move::Reject, Move::Fail, Move::Reclaim, Move::GiveUp]),
        EventKind::Cancelled => (State::Cancelled, &[Move::Cancel]),
        EventKind::Expired | EventKind::BatchEnded | EventKind::Published => {
            panic!("{kind:?} is no transition of a job in {from:?}")
        }
    }
}

/// Every execution that the events tell has its attempt, in the same order and with the same end.
fn same_story(row: &JobRow, events: &[Event], attempts: &[AttemptRow]) {
    let mut ends = Vec::new();
    for (n, event) in events.iter().enumerate() {
        if event.kind == EventKind::Processing {
            ends.push(events.get(n + 1).expect("a processing event is followed by its outcome"));
        }
    }
    assert_eq!(
        ends.len(),
        attempts.len(),
        "{}: one attempt per execution: {events:#?} {attempts:#?}",
        row.id
    );
    for (end, attempt) in ends.iter().zip(attempts) {
        let kind = match attempt.outcome.as_str() {
            "complete" => EventKind::Complete,
            "failed" => EventKind::Failed,
            "cancelled" => EventKind::Cancelled,
            word => EventKind::of_requeue(Requeue::parse(word).expect("a known outcome")),
        };
        assert_eq!(end.kind, kind, "event and attempt disagree: {end:#?} {attempt:#?}");
        assert_eq!(end.generation, attempt.generation, "{end:#?} {attempt:#?}");
        assert_eq!(end.attempt, attempt.number, "{end:#?} {attempt:#?}");
        assert_eq!(end.code, attempt.code, "{end:#?} {attempt:#?}");
        assert_eq!(end.target_status, attempt.target_status, "{end:#?} {attempt:#?}");
    }
}

/// Tokens grow by one with every claim, and the charged count is what the history of the generation makes it.
fn numbers(row: &JobRow, attempts: &[AttemptRow]) {
    let running = i64::from(row.state == State::Processing);
    let tokens: Vec<i64> = attempts.iter().map(|a| a.token.0).collect();
    let ended: Vec<i64> = (1..=row.token.0 - running).collect();
    assert_eq!(tokens, ended, "{}: one attempt for every token: {row:#?} {attempts:#?}", row.id);
    let (mut generation, mut charged, mut releases) = (1, 0, 0);
    for attempt in attempts {
        assert!(attempt.generation >= generation, "generations grow: {attempts:#?}");
        if attempt.generation > generation {
            (generation, charged, releases) = (attempt.generation, 0, 0);
        }
        charged += 1;
        assert_eq!(attempt.number, charged, "the charged count of {attempt:#?} in {attempts:#?}");
        match after(attempt) {
            After::Kept => {}
            After::GivenBack => charged -= 1,
            After::StartsAgain => charged = 0,
        }
        releases += u32::from(attempt.rule == Some(Rule::ReleasedUncharged));
    }
    if row.generation > generation {
        (charged, releases) = (0, 0);
    }
    assert_eq!(
        i64::from(row.attempt),
        i64::from(charged) + running,
        "the row's count: {row:#?} {attempts:#?}"
    );
    assert_eq!(row.releases, releases, "the row's releases: {row:#?} {attempts:#?}");
}

enum After {
    Kept,
    GivenBack,
    StartsAgain,
}

/// What the end of an attempt does to the charged count.
fn after(attempt: &AttemptRow) -> After {
    let Some(why) = Requeue::parse(&attempt.outcome) else { return After::Kept };
    match why {
        Requeue::Retry | Requeue::Reclaim => After::Kept,
        Requeue::Release if attempt.rule == Some(Rule::ReleasedTooOften) => After::Kept,
        Requeue::Release
        | Requeue::Snooze
        | Requeue::AwaitBatch
        | Requeue::Throttle
        | Requeue::ProbeRefund
        | Requeue::Return
        | Requeue::Environment => After::GivenBack,
        Requeue::Reschedule => After::StartsAgain,
    }
}
