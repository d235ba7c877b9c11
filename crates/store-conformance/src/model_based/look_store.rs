//! The same look at a real store, and the promises about order that a comparison alone would not see.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::time::{Duration, Instant};

use futures::future::try_join_all;
use futures::try_join;
use redrive_model::{BatchId, EventSeq, JobId};
use redrive_store::{
    BatchRow, Counts, DeadRow, Event, Expired, GroupFilter, GroupRow, JobFilter, JobRow, NewEvent,
    PageRequest, Store, StoreError,
};

use super::look::{Look, Places, Scope, plain_attempt, plain_dead, plain_events, plain_job};
use super::perform::all_dead;
use super::universe;
use super::world::World;

/// More events than any sequence makes between two looks.
const MANY: usize = 100_000;
/// Topic of the event that ends what a look reads.
const MARKER: &str = "looked";

/// A promise that a store did not keep, in words.
#[derive(Debug)]
pub(crate) struct Broken(pub(crate) String);

impl From<StoreError> for Broken {
    fn from(error: StoreError) -> Self {
        Self(format!("looking was refused: {error}"))
    }
}

/// Where a store was read up to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reader {
    pub(crate) after: EventSeq,
}

impl Look {
    /// What is seen. Nobody writes meanwhile, so that everything can be asked at once.
    pub(crate) async fn of_store(
        store: &dyn Store,
        world: &World,
        scope: &Scope<'_>,
        reader: &mut Reader,
    ) -> Result<Self, Broken> {
        let asked: Vec<JobId> = match scope.attempts_of {
            Some(jobs) => jobs.to_vec(),
            None => world.created.iter().copied().collect(),
        };
        let attempts = try_join_all(asked.into_iter().map(async |id| {
            let rows = store.attempts(id).await?;
            Ok::<_, Broken>((id, rows.into_iter().map(plain_attempt).collect()))
        }));
        let workers = (0..universe::WORKERS).map(universe::worker);
        let leases = try_join_all(workers.map(async |id| {
            let mut held = store.leases_of(id).await?;
            held.sort_by_key(|claimed| claimed.lease);
            Ok::<_, Broken>((id, held))
        }));
        let batches =
            try_join_all(world.batches.iter().map(async |id| Ok::<_, Broken>(store.batch(*id).await?)));
        let batch_failures = try_join_all(
            world.batches.iter().map(async |id| Ok::<_, Broken>((*id, store.batch_failures(*id).await?))),
        );
        let filter = JobFilter::default();
        let (jobs, attempts, leases, batches, batch_failures, events) = try_join!(
            all_jobs(store, &filter, 200),
            attempts,
            leases,
            batches,
            batch_failures,
            new_events(store, reader)
        )?;
        let (dead, groups, expired, breakers, workers) = try_join!(
            kept(all_dead(store)),
            groups(store),
            expired(store),
            kept(store.breakers()),
            kept(store.workers())
        )?;
        let (mut paused, counts, queue, next_due) =
            try_join!(store.paused(), store.counts(), store.queue(), store.next_due())?;
        paused.sort();
        let dead = by_call(dead, world)?;
        let places = Places::of(dead.iter().map(|row| row.offset));
        let known: BTreeSet<BatchId> = batches.iter().flatten().map(|row| row.id).collect();
        let batches = batches.into_iter().flatten().map(|row| {
            let dead_offset = row.dead_offset.map(|offset| places.place(offset));
            (row.id, BatchRow { dead_offset, ..row })
        });
        Ok(Self {
            jobs: jobs.into_iter().map(|row| (row.id, plain_job(row))).collect(),
            attempts: attempts.into_iter().collect(),
            events: plain_events(events),
            batches: batches.collect(),
            batch_failures: batch_failures
                .into_iter()
                .filter(|(id, failures)| known.contains(id) || !failures.is_empty())
                .collect(),
            dead: plain_dead(dead, &places),
            groups: groups.into_iter().map(|row| (row.fingerprint.clone(), row)).collect(),
            breakers: breakers.into_iter().map(|row| (row.target.clone(), row)).collect(),
            workers: workers.into_iter().map(|row| (row.id, row)).collect(),
            leases: leases.into_iter().collect(),
            expired,
            paused,
            counts: sorted(counts),
            queue,
            next_due,
        })
    }
}

/// What came since the last look. On Postgres an event is handed out only when no earlier one can still appear, which any
/// open transaction of the cluster can delay: a marker is published, and everything up to it is waited for.
async fn new_events(store: &dyn Store, reader: &mut Reader) -> Result<Vec<Event>, Broken> {
    store.publish(vec![NewEvent { topic: MARKER.into(), payload: Vec::new() }]).await?;
    let deadline = Instant::now() + Duration::from_secs(30);
    let mut events: Vec<Event> = Vec::new();
    while events.last().is_none_or(|event| event.topic.as_deref() != Some(MARKER)) {
        if Instant::now() > deadline {
            return Err(Broken(format!("the newest event is not handed out; {} came", events.len())));
        }
        let more = store.events_after(reader.after, MANY).await?;
        reader.after = more.last().map_or(reader.after, |event| event.seq);
        events.extend(more);
    }
    rising("events", events.iter().map(|event| event.seq))?;
    same("last_event", &reader.after, &store.last_event().await?)?;
    events.pop();
    Ok(events)
}

/// A refusal to be looked at is a broken promise.
async fn kept<T>(answer: impl Future<Output = redrive_store::Result<T>>) -> Result<T, Broken> {
    Ok(answer.await?)
}

/// Offsets grow from call to call; within one the order is nobody's promise.
fn by_call(mut dead: Vec<DeadRow>, world: &World) -> Result<Vec<DeadRow>, Broken> {
    let call = |row: &DeadRow| {
        let known = world.reference.dead.iter().find(|dead| dead.letter() == (row.job, row.generation));
        known.map_or(u64::MAX, |dead| dead.call)
    };
    ensure(dead.is_sorted_by_key(call), || {
        format!("dead letters are not in the order of their deaths: {dead:#?}")
    })?;
    dead.sort_by_key(|row| (call(row), row.job, row.generation));
    Ok(dead)
}

/// The jobs of a filter, page by page, newest first.
pub(crate) async fn all_jobs(
    store: &dyn Store,
    filter: &JobFilter,
    limit: usize,
) -> Result<Vec<JobRow>, Broken> {
    let mut rows: Vec<JobRow> = Vec::new();
    let mut page = PageRequest { limit, cursor: None };
    loop {
        let found = store.jobs(filter.clone(), page.clone()).await?;
        rows.extend(found.rows);
        match found.next {
            Some(next) => page.cursor = Some(next),
            None => break,
        }
    }
    rising("jobs, newest first", rows.iter().rev().map(|row| row.id))?;
    Ok(rows)
}

async fn groups(store: &dyn Store) -> Result<Vec<GroupRow>, Broken> {
    let page = PageRequest { limit: 200, cursor: None };
    let rows = store.groups(GroupFilter::default(), page).await?.rows;
    let seen: Vec<_> = rows.iter().rev().map(|row| row.last_seen).collect();
    ensure(seen.is_sorted(), || format!("groups are not sorted by when they were last seen: {seen:?}"))?;
    Ok(rows)
}

async fn expired(store: &dyn Store) -> Result<Vec<Expired>, Broken> {
    let mut rows = store.expired(None, 1_000).await?;
    let since: Vec<_> = rows.iter().map(|row| row.expired_at).collect();
    ensure(since.is_sorted(), || format!("expired leases are not oldest first: {since:?}"))?;
    let first = store.expired(None, 1).await?;
    same("the oldest expired lease", &since.first(), &first.first().map(|row| &row.expired_at))?;
    rows.sort_by_key(|row| (row.expired_at, row.lease.job));
    Ok(rows)
}

/// Nobody promises the order of counts.
fn sorted(mut counts: Counts) -> Counts {
    counts.states.sort_by(|a, b| (&a.workload, a.state).cmp(&(&b.workload, b.state)));
    counts.lanes.sort_by(|a, b| (&a.workload, &a.targets).cmp(&(&b.workload, &b.targets)));
    counts
}

fn rising<T: PartialOrd + Debug>(what: &str, values: impl Iterator<Item = T>) -> Result<(), Broken> {
    let values: Vec<T> = values.collect();
    ensure(values.is_sorted_by(|a, b| a < b), || format!("{what}: out of order: {values:?}"))
}

fn same<T: PartialEq + Debug>(what: &str, expected: &T, actual: &T) -> Result<(), Broken> {
    ensure(expected == actual, || format!("{what} should be {expected:?}, but is {actual:?}"))
}

/// Says what is wrong unless it holds.
pub(crate) fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken(otherwise())) }
}
