//! What is looked at once, at the end of a sequence: lists by filter, the history of every job, and whether the
//! history adds up to the row.

use futures::future::try_join_all;
use redrive_model::{Code, JobId, Shown, State};
use redrive_store::{DeadFilter, DeadState, Event, EventKind, JobFilter, JobRow, Store};

use super::difference;
use super::look::{plain_events, plain_job};
use super::look_store::{Broken, all_jobs, ensure};
use super::perform::{all_dead, dead_letters};
use super::universe;
use super::world::World;

/// Checks everything that is not part of every look.
pub(crate) async fn deep(store: &dyn Store, world: &World) -> Result<(), Broken> {
    let filters = filters(world);
    try_join_all(filters.iter().map(|(name, filter, wanted)| by_filter(store, world, name, filter, wanted)))
        .await?;
    dead(store, world).await?;
    try_join_all(world.created.iter().map(|id| by_id(store, world, *id))).await?;
    Ok(())
}

/// Lists come newest first and go on where the page before ended.
async fn by_filter(
    store: &dyn Store,
    world: &World,
    name: &str,
    filter: &JobFilter,
    wanted: &Wanted,
) -> Result<(), Broken> {
    // Short pages where there is most to list, so that they are turned.
    let limit = if filter.shown.is_empty() { 4 } else { 100 };
    let ids: Vec<JobId> = all_jobs(store, filter, limit).await?.iter().map(|row| row.id).collect();
    let rows = world.reference.job_rows();
    let expected: Vec<JobId> = rows.iter().rev().filter(|row| wanted(row)).map(|row| row.id).collect();
    ensure(ids == expected, || format!("jobs with {name} should be {expected:?}, but are {ids:?}"))
}

/// One job by its id is what it is in the list, and its history adds up.
async fn by_id(store: &dyn Store, world: &World, id: JobId) -> Result<(), Broken> {
    let r = &world.reference;
    let row = store.job(id).await?.map(plain_job);
    let expected = r.jobs.get(&id).map(|job| plain_job(job.row(r.is_held(&job.targets), r.now)));
    if let Some(difference) = difference::of(&format!("job {id} by its id"), &expected, &row) {
        return Err(Broken(difference));
    }
    history(store, world, id).await
}

type Wanted = Box<dyn Fn(&JobRow) -> bool + Send + Sync>;

fn filters(world: &World) -> Vec<(String, JobFilter, Wanted)> {
    let mut all: Vec<(String, JobFilter, Wanted)> = Vec::new();
    let none = JobFilter::default;
    for shown in Shown::ALL.iter().copied() {
        let filter = JobFilter { shown: vec![shown], ..none() };
        all.push((format!("shown {shown}"), filter, Box::new(move |row| row.shown == shown)));
    }
    let workload = universe::workload(0);
    let shown = vec![Shown::Failed, Shown::WaitingRetry, Shown::Processing];
    let filter = JobFilter { shown: shown.clone(), ..none() };
    all.push(("several states".into(), filter, Box::new(move |row| shown.contains(&row.shown))));
    let filter = JobFilter { workload: Some(workload.clone()), shown: vec![Shown::Queued], ..none() };
    let wanted = move |row: &JobRow| row.workload == workload && row.shown == Shown::Queued;
    all.push(("a workload, queued".into(), filter, Box::new(wanted)));
    let owner = Some(universe::owner(0));
    let filter = JobFilter { owner: owner.clone(), ..none() };
    all.push(("an owner".into(), filter, Box::new(move |row| row.owner == owner)));
    for code in [Code::Gw5xx, Code::IoError] {
        let wanted = move |row: &JobRow| row.failure_code.is_some_and(|c| c == code || c.public() == code);
        all.push((format!("code {code}"), JobFilter { code: Some(code), ..none() }, Box::new(wanted)));
    }
    let batch = world.batches.last().copied();
    if batch.is_some() {
        all.push(("a batch".into(), JobFilter { batch, ..none() }, Box::new(move |row| row.batch == batch)));
    }
    let of = |shown: Vec<Shown>| JobFilter { single: true, shown, ..none() };
    all.push(("in no batch".into(), of(Vec::new()), Box::new(|row| row.batch.is_none())));
    for shown in Shown::ALL.iter().copied() {
        let wanted = move |row: &JobRow| row.batch.is_none() && row.shown == shown;
        all.push((format!("in no batch, shown {shown}"), of(vec![shown]), Box::new(wanted)));
    }
    let since = redrive_model::instant::after(universe::start(), std::time::Duration::from_secs(60));
    let filter = JobFilter { since: Some(since), ..none() };
    all.push(("a time".into(), filter, Box::new(move |row| row.created_at >= since)));
    all
}

/// Open ones unless said; counting and single rows agree with the list.
async fn dead(store: &dyn Store, world: &World) -> Result<(), Broken> {
    let open = world.reference.dead.iter().filter(|dead| dead.state == DeadState::Open).count();
    let listed = dead_letters(store, &DeadFilter::default()).await?;
    ensure(listed.len() == open, || {
        format!("{open} dead letters are open, but {} are listed", listed.len())
    })?;
    let counted = store.count_dead(DeadFilter::default()).await?;
    ensure(counted == open as u64, || format!("{open} dead letters are open, but {counted} are counted"))?;
    try_join_all(all_dead(store).await?.into_iter().map(async |row| {
        let one = store.dead_letter(row.offset).await?;
        ensure(one.as_ref() == Some(&row), || {
            format!("dead letter {} is {row:?} in the list, but {one:?}", row.offset)
        })
    }))
    .await?;
    Ok(())
}

/// The events of one job are those of the reference, and add up to its row.
async fn history(store: &dyn Store, world: &World, id: JobId) -> Result<(), Broken> {
    let events = store.job_events(id).await?;
    let told = fold(&events).map_err(Broken)?;
    if let Some(job) = world.reference.jobs.get(&id) {
        // A claim writes no event: a job that runs was last heard of in the queue.
        let state = if job.state == State::Processing { State::Queued } else { job.state };
        let row = (state, job.generation);
        ensure(told == Some(row), || format!("the events of {id} add up to {told:?}, its row says {row:?}"))?;
    }
    let r = &world.reference;
    let mine = |event: &&Event| event.job == Some(id) && r.jobs.contains_key(&id);
    let expected: Vec<Event> = r.events.iter().filter(mine).map(|event| r.read_event(event)).collect();
    let (expected, events) = (plain_events(expected), plain_events(events));
    ensure(events == expected, || format!("the events of {id} should be {expected:#?}, but are {events:#?}"))
}

/// The state and generation that a job's events add up to, if they are a possible history.
fn fold(events: &[Event]) -> Result<Option<(State, u32)>, String> {
    let mut told: Option<(State, u32)> = None;
    for event in events {
        let refuse = || Err(format!("{} cannot follow {told:?} in {events:#?}", event.kind.as_str()));
        let (state, generation) = match (event.kind, told) {
            (EventKind::Queued, None) => (State::Queued, 1),
            (EventKind::Failed, None) => (State::Failed, 1),
            (EventKind::Queued, Some((State::Failed, generation))) => (State::Queued, generation + 1),
            (EventKind::Processing, Some((State::Queued, generation))) => (State::Processing, generation),
            (
                EventKind::Queued
                | EventKind::Retry
                | EventKind::Snoozed
                | EventKind::Released
                | EventKind::Reclaimed,
                Some((State::Processing, generation)),
            ) => (State::Queued, generation),
            (EventKind::Complete, Some((State::Processing, generation))) => (State::Complete, generation),
            (EventKind::Failed, Some((State::Queued | State::Processing, generation))) => {
                (State::Failed, generation)
            }
            (EventKind::Cancelled, Some((State::Queued | State::Processing, generation))) => {
                (State::Cancelled, generation)
            }
            (EventKind::Expired, Some((State::Complete, generation))) => (State::Complete, generation),
            (EventKind::BatchEnded | EventKind::Published, _) => return refuse(),
            (
                EventKind::Queued
                | EventKind::Processing
                | EventKind::Retry
                | EventKind::Snoozed
                | EventKind::Released
                | EventKind::Reclaimed
                | EventKind::Complete
                | EventKind::Failed
                | EventKind::Cancelled
                | EventKind::Expired,
                _,
            ) => return refuse(),
        };
        if event.generation != generation {
            return refuse();
        }
        told = Some((state, generation));
    }
    Ok(told)
}
