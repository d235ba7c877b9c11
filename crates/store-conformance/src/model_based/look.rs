//! Everything that can be looked at, in a form that is equal on every store.
//!
//! Positions replace dead-letter offsets, event numbers are left out, and lists whose order nobody promises are sorted.

use std::collections::BTreeMap;

use redrive_model::fingerprint::Fingerprint;
use redrive_model::{BatchId, EventSeq, JobId, Offset, State, Target, Timestamp, WorkerId};
use redrive_store::{
    AttemptRow, BatchFailures, BatchRow, BreakerRow, Claimed, Counts, DeadRow, Event, Expired, GroupRow,
    JobRow, QueueStats, WorkerRow,
};

use super::difference::{of, of_lists, of_maps};
use super::reference::Reference;
use super::universe;
use super::world::World;

/// What is looked at.
pub(crate) struct Scope<'a> {
    /// Whose attempts are read; `None` is everybody's.
    pub(crate) attempts_of: Option<&'a [JobId]>,
    /// Events from here on, counted on the reference.
    pub(crate) events_from: usize,
}

/// What was seen.
#[derive(Debug)]
pub(crate) struct Look {
    pub(crate) jobs: BTreeMap<JobId, JobRow>,
    pub(crate) attempts: BTreeMap<JobId, Vec<AttemptRow>>,
    pub(crate) events: Vec<Event>,
    pub(crate) dead: Vec<DeadRow>,
    pub(crate) groups: BTreeMap<Fingerprint, GroupRow>,
    pub(crate) batches: BTreeMap<BatchId, BatchRow>,
    pub(crate) batch_failures: BTreeMap<BatchId, Vec<BatchFailures>>,
    pub(crate) breakers: BTreeMap<Target, BreakerRow>,
    pub(crate) workers: BTreeMap<WorkerId, WorkerRow>,
    pub(crate) leases: BTreeMap<WorkerId, Vec<Claimed>>,
    pub(crate) expired: Vec<Expired>,
    pub(crate) paused: Vec<String>,
    pub(crate) counts: Counts,
    pub(crate) queue: QueueStats,
    pub(crate) next_due: Option<Timestamp>,
}

impl Look {
    /// The first thing that differs, in words.
    pub(crate) fn difference(&self, store: &Self) -> Option<String> {
        of_maps("job", &self.jobs, &store.jobs)
            .or_else(|| of_maps("attempts of", &self.attempts, &store.attempts))
            .or_else(|| of_lists("event", &self.events, &store.events))
            .or_else(|| of_lists("dead letter", &self.dead, &store.dead))
            .or_else(|| of_maps("group", &self.groups, &store.groups))
            .or_else(|| of_maps("batch", &self.batches, &store.batches))
            .or_else(|| of_maps("failures of batch", &self.batch_failures, &store.batch_failures))
            .or_else(|| of_maps("breaker", &self.breakers, &store.breakers))
            .or_else(|| of_maps("worker", &self.workers, &store.workers))
            .or_else(|| of_maps("leases of", &self.leases, &store.leases))
            .or_else(|| of_lists("expired lease", &self.expired, &store.expired))
            .or_else(|| of("paused", &self.paused, &store.paused))
            .or_else(|| of_lists("count of a state", &self.counts.states, &store.counts.states))
            .or_else(|| of_lists("count of a set of targets", &self.counts.lanes, &store.counts.lanes))
            .or_else(|| of("queue", &self.queue, &store.queue))
            .or_else(|| of("next due", &self.next_due, &store.next_due))
    }
}

/// When a job may run says something only about jobs that wait for that time.
pub(crate) fn plain_job(mut row: JobRow) -> JobRow {
    if row.state != State::Queued || row.awaits.is_some() {
        row.due_at = universe::start();
    }
    row
}

/// The context is JSON: what it says counts, not how it is written.
pub(crate) fn plain_attempt(mut row: AttemptRow) -> AttemptRow {
    if let Some(json) = &row.context {
        let value: serde_json::Value =
            serde_json::from_str(json).unwrap_or_else(|error| format!("{error}: {json}").into());
        row.context = Some(value.to_string());
    }
    row
}

/// The order of one job's events counts; that of different jobs' events within a call is nobody's promise.
pub(crate) fn plain_events(mut events: Vec<Event>) -> Vec<Event> {
    events.sort_by(|a, b| (a.job, a.batch, &a.topic).cmp(&(b.job, b.batch, &b.topic)));
    for event in &mut events {
        event.seq = EventSeq(0);
    }
    events
}

/// The place of each offset among those that are there; -1 stands for one that is gone.
pub(crate) struct Places(BTreeMap<Offset, i64>);

impl Places {
    pub(crate) fn of(sorted: impl Iterator<Item = Offset>) -> Self {
        Self(sorted.zip(0..).collect())
    }

    pub(crate) fn place(&self, offset: Offset) -> Offset {
        Offset(self.0.get(&offset).copied().unwrap_or(-1))
    }
}

/// Replaces offsets by places. `rows` are sorted by offset.
pub(crate) fn plain_dead(rows: Vec<DeadRow>, places: &Places) -> Vec<DeadRow> {
    let plain = |row: DeadRow| DeadRow {
        offset: places.place(row.offset),
        previous: row.previous.map(|offset| places.place(offset)),
        ..row
    };
    rows.into_iter().map(plain).collect()
}

impl Look {
    /// What should be seen.
    pub(crate) fn of_reference(world: &World, scope: &Scope<'_>) -> Self {
        let r = &world.reference;
        let jobs = r.job_rows().into_iter().map(|row| (row.id, plain_job(row))).collect();
        let asked = match scope.attempts_of {
            Some(jobs) => jobs.to_vec(),
            None => world.created.iter().copied().collect(),
        };
        let attempts = asked.into_iter().map(|id| (id, attempts_of(r, id))).collect();
        let events = r.events.iter().skip(scope.events_from).map(|event| r.read_event(event)).collect();
        let leases = (0..universe::WORKERS).map(universe::worker).map(|id| (id, r.leases_of(id)));
        let batches = r.batches.values().map(|batch| {
            let letter = batch.newest.last().and_then(|ended| ended.1);
            let dead_offset = letter.map(|letter| position(r, letter));
            (batch.id, BatchRow { dead_offset, ..r.batch_row(batch) })
        });
        Self {
            jobs,
            attempts,
            events: plain_events(events),
            dead: dead_rows(r),
            groups: r.groups.iter().map(|(id, group)| (id.clone(), r.group_row(id, group))).collect(),
            batches: batches.collect(),
            batch_failures: r.batches.keys().map(|id| (*id, r.batch_failures(*id))).collect(),
            breakers: r.breakers.clone(),
            workers: r.worker_rows().into_iter().map(|row| (row.id, row)).collect(),
            leases: leases.collect(),
            expired: r.expired(),
            paused: r.paused.iter().cloned().collect(),
            counts: r.counts(),
            queue: r.queue(),
            next_due: r.next_due(),
        }
    }
}

/// Where several jobs of one call may be the newest, a store may show any of them.
pub(crate) fn forgive(seen: &mut Look, expected: &Look, r: &Reference) {
    for (id, row) in &mut seen.groups {
        let shown = (row.sample, row.message.clone());
        let allowed = r.groups.get(id).is_some_and(|group| group.newest.may_be(&shown));
        if let Some(other) = expected.groups.get(id).filter(|_| allowed) {
            (row.sample, row.message) = (other.sample, other.message.clone());
        }
    }
    for (id, row) in &mut seen.batches {
        let Some(failure) = row.last_failure.clone() else { continue };
        let letters = || std::iter::once(None).chain(r.dead.iter().map(|dead| Some(dead.letter())));
        let letter = letters().find(|letter| letter.map(|letter| position(r, letter)) == row.dead_offset);
        let allowed =
            |letter| r.batches.get(id).is_some_and(|batch| batch.newest.may_be(&(failure.clone(), letter)));
        if let Some(other) = expected.batches.get(id).filter(|_| letter.is_some_and(allowed)) {
            (row.last_failure, row.dead_offset) = (other.last_failure.clone(), other.dead_offset);
        }
    }
}

fn attempts_of(r: &Reference, id: JobId) -> Vec<AttemptRow> {
    r.attempts.values().filter(|row| row.job == id).cloned().map(plain_attempt).collect()
}

fn position(r: &Reference, letter: (JobId, u32)) -> Offset {
    let place = r.dead_in_order().iter().position(|dead| dead.letter() == letter);
    Offset(place.and_then(|place| i64::try_from(place).ok()).unwrap_or(-1))
}

fn dead_rows(r: &Reference) -> Vec<DeadRow> {
    let row = |dead: &super::reference::Dead| {
        let job = r.jobs.get(&dead.job)?;
        // A member without an owner is its batch's owner's.
        let of_batch = || r.batches.get(&job.batch?)?.owner.clone();
        Some(DeadRow {
            offset: position(r, dead.letter()),
            job: dead.job,
            generation: dead.generation,
            workload: job.workload.clone(),
            owner: job.owner.clone().or_else(of_batch),
            reason: dead.reason,
            code: dead.code,
            message: dead.message.clone(),
            attempts: dead.attempts,
            fingerprint: dead.fingerprint.clone(),
            state: dead.state,
            at: dead.at,
            closed_at: dead.closed_at,
            replay: dead.replay,
            previous: dead.previous.map(|generation| position(r, (dead.job, generation))),
        })
    };
    r.dead_in_order().into_iter().filter_map(row).collect()
}
