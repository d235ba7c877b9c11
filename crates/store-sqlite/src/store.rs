//! The store: opening, closing, and the trait handed to verbs and readers.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use redrive_model::breaker::{Breaker, Turn};
use redrive_model::fingerprint::Fingerprint;
use redrive_model::group::GroupState;
use redrive_model::{
    BatchId, EventSeq, JobId, Offset, Owner, ReplayId, Target, Timestamp, WorkerId, WorkloadName,
};
use redrive_store::clock::{Clock, SystemClock};
use redrive_store::{
    ActEnd, ActFilter, ActRow, Acted, AttemptRow, BatchFailures, BatchFilter, BatchRow, BreakerRow, Claim,
    Claimed, Counts, DeadCount, DeadFilter, DeadRow, Enqueue, EnqueueReply, Event, Expired, Extension,
    Finish, Finished, GiveUp, GroupFilter, GroupRow, Idempotency, JobFilter, JobRow, Keyed, LastFailure,
    Lease, Matching, MinuteRow, NewAct, NewEvent, NewToken, Page, PageRequest, Payload, Progress, Purge,
    Purged, ReplayCounts, Result, RetryBy, SessionKey, SessionLife, SessionRow, SettingRow, ShownCount, Step,
    Store, StoreError, Swapped, TokenId, TokenRow, TurnRow, WorkerBeat, WorkerRow, WorkloadQueue,
};
use rusqlite::Connection;
use tokio::sync::Notify;

use crate::lock::FileLock;
use crate::open::{CHECK_AT_ONCE, Place, Sync, open_reader, open_writer, quick_check};
use crate::read;
use crate::reader::Readers;
use crate::transaction::Transaction;
use crate::verb::{
    act, breaker, claim, desk, enqueue, finish, key, lease, minutes, purge, session, targets, token,
};
use crate::writer::{Tx, Undo, Writer};

/// How to open a store.
#[derive(Clone)]
pub struct Options {
    clock: Arc<dyn Clock>,
    sync: Sync,
}

impl Default for Options {
    fn default() -> Self {
        Self { clock: Arc::new(SystemClock), sync: Sync::EachCommit }
    }
}

impl Options {
    /// Another clock, for tests and simulation.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Commits are not synced: a killed process loses nothing, but a machine that loses its power may forget the last ones. The
    /// file is whole either way. Only for work that somebody hands in again.
    #[must_use]
    pub fn may_forget(mut self) -> Self {
        self.sync = Sync::Seldom;
        self
    }

    /// Opens a file for working on it; creates it if there is none. Refuses when another process works on it, when it
    /// is damaged, not ours, or of another epoch.
    pub async fn open(self, path: impl Into<PathBuf>) -> Result<SqliteStore> {
        let path = path.into();
        let task = tokio::task::spawn_blocking(move || SqliteStore::open_file(&path, self.clock, self.sync));
        task.await.map_err(|error| StoreError::Internal(error.to_string()))?
    }

    /// Opens a database that lives only in memory.
    pub fn in_memory(self) -> Result<SqliteStore> {
        let conn = open_writer(Place::Memory, self.sync)?;
        let gone = || Err(StoreError::Refused("a database in memory cannot be opened again".into()));
        let writer = Some(Writer::start(conn, self.clock.clone(), gone)?);
        Ok(SqliteStore { writer, readers: None, clock: self.clock, lock: None, work: Notify::new() })
    }

    /// Opens a file only for looking at it, also while another process works on it. Every write is refused.
    pub fn read_only(self, path: impl AsRef<Path>) -> Result<SqliteStore> {
        drop(open_reader(path.as_ref())?);
        let readers = Some(Readers::new(path.as_ref()));
        Ok(SqliteStore { writer: None, readers, clock: self.clock, lock: None, work: Notify::new() })
    }
}

/// Redrive's embedded store.
pub struct SqliteStore {
    writer: Option<Writer>,
    readers: Option<Readers>,
    clock: Arc<dyn Clock>,
    lock: Option<FileLock>,
    work: Notify,
}

impl SqliteStore {
    /// Opens a file with default options.
    pub async fn open(path: impl Into<PathBuf>) -> Result<Self> {
        Options::default().open(path).await
    }

    fn open_file(path: &Path, clock: Arc<dyn Clock>, sync: Sync) -> Result<Self> {
        let lock = FileLock::take(path)?;
        let conn = open_writer(Place::File(path), sync)?;
        lock.mark_open()?;
        if std::fs::metadata(path).is_ok_and(|m| m.len() > CHECK_AT_ONCE) {
            check_in_background(path.to_owned());
        }
        let again = path.to_owned();
        let writer = Writer::start(conn, clock.clone(), move || open_writer(Place::File(&again), sync))?;
        Ok(Self {
            writer: Some(writer),
            readers: Some(Readers::new(path)),
            clock,
            lock: Some(lock),
            work: Notify::new(),
        })
    }

    /// Runs a user's own statements and enqueues in one transaction, on the writer. The closure must not take long:
    /// everybody else waits.
    pub async fn transaction<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Transaction<'_, '_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.write_work(Undo::Savepoint, move |tx| work(&mut Transaction { tx })).await
    }

    pub(crate) async fn write<T: Send + 'static>(
        &self,
        undo: Undo,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        match &self.writer {
            Some(writer) => writer.write(undo, work).await,
            None => Err(StoreError::Refused("the database was opened for reading only".into())),
        }
    }

    /// The same for writes after which work may be ready.
    async fn write_work<T: Send + 'static>(
        &self,
        undo: Undo,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let result = self.write(undo, work).await;
        self.hint();
        result
    }

    /// Wakes whoever waits; when nobody does, the next one to wait does not have to.
    fn hint(&self) {
        self.work.notify_waiters();
        self.work.notify_one();
    }

    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        match &self.readers {
            Some(readers) => readers.read(work).await,
            // In memory there is one connection only.
            None => self.write(Undo::Group, move |tx| work(tx.conn)).await,
        }
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        // Said before the connections end: the last one removes the write-ahead log, and whoever is killed between that and
        // this word would be refused at the next start although nothing is lost.
        if let Some(lock) = &self.lock {
            let _ = lock.mark_closed();
        }
        if let Some(readers) = &self.readers {
            readers.close();
        }
        if let Some(mut writer) = self.writer.take() {
            writer.close();
        }
    }
}

/// A large file takes long to check; work goes on meanwhile, and damage is said loudly.
fn check_in_background(path: PathBuf) {
    let check = move || {
        if let Err(error) = open_reader(&path).and_then(|conn| quick_check(&conn)) {
            tracing::error!(event = "store.damaged", path = %path.display(), "{error}");
        }
    };
    let _ = std::thread::Builder::new().name("redrive-check".into()).spawn(check);
}

#[async_trait]
impl Store for SqliteStore {
    async fn now(&self) -> Result<Timestamp> {
        Ok(self.clock.now())
    }

    async fn enqueue(&self, call: Enqueue) -> Result<EnqueueReply> {
        // A batch can turn out to be sealed when its members are already written.
        let batches =
            call.jobs.iter().any(|job| job.batch.is_some()) || !call.open.is_empty() || !call.seal.is_empty();
        let undo = if batches { Undo::Savepoint } else { Undo::Group };
        self.write_work(undo, move |tx| enqueue::enqueue(tx, &call)).await
    }

    async fn enqueue_for(&self, call: Enqueue, claim: Claim) -> Result<(EnqueueReply, Vec<Claimed>)> {
        let all = call.jobs.len();
        let work = move |tx: &mut Tx<'_>| {
            let reply = enqueue::enqueue(tx, &call)?;
            let claimed = claim::claim(tx, &claim)?;
            Ok((reply, claimed))
        };
        let (reply, claimed) = self.write(Undo::Savepoint, work).await?;
        // Others hear only of what is left.
        if claimed.len() < all {
            self.hint();
        }
        Ok((reply, claimed))
    }

    async fn publish(&self, events: Vec<NewEvent>) -> Result<()> {
        self.write(Undo::Savepoint, move |tx| act::publish(tx, &events)).await
    }

    async fn claim(&self, claim: Claim) -> Result<Vec<Claimed>> {
        self.write(Undo::Group, move |tx| claim::claim(tx, &claim)).await
    }

    async fn extend(&self, worker: WorkerId, leases: Vec<Lease>, ttl: Duration) -> Result<Vec<Extension>> {
        self.write(Undo::Group, move |tx| lease::extend(tx, worker, &leases, ttl)).await
    }

    async fn save_state(&self, lease: Lease, state: Vec<u8>) -> Result<bool> {
        self.write(Undo::Savepoint, move |tx| lease::save_state(tx, lease, &state)).await
    }

    async fn report_progress(&self, lease: Lease, progress: Progress) -> Result<bool> {
        self.write(Undo::Group, move |tx| lease::report_progress(tx, lease, &progress)).await
    }

    async fn finish(&self, finishes: Vec<Finish>) -> Result<Vec<Finished>> {
        // The schema refuses a requeue of a job at its cap, say.
        let plain = finishes.iter().all(|f| matches!(f.step, Step::Complete { .. }));
        let undo = if plain { Undo::Group } else { Undo::Savepoint };
        self.write_work(undo, move |tx| finish::finish(tx, &finishes)).await
    }

    async fn leases_of(&self, worker: WorkerId) -> Result<Vec<Claimed>> {
        self.write(Undo::Group, move |tx| claim::leases_of(tx, worker)).await
    }

    async fn expired(&self, workloads: Option<&[WorkloadName]>, limit: usize) -> Result<Vec<Expired>> {
        let workloads = workloads.map(<[WorkloadName]>::to_vec);
        self.write(Undo::Group, move |tx| lease::expired(tx, workloads.as_deref(), limit)).await
    }

    async fn beat(&self, beat: WorkerBeat) -> Result<bool> {
        self.write(Undo::Group, move |tx| lease::beat(tx, &beat)).await
    }

    async fn want_drained(&self, worker: WorkerId, wanted: bool) -> Result<bool> {
        self.write(Undo::Group, move |tx| lease::want_drained(tx, worker, wanted)).await
    }

    async fn workers(&self) -> Result<Vec<WorkerRow>> {
        self.read(read::workers).await
    }

    async fn waits_alone(&self, workloads: &[WorkloadName]) -> Result<bool> {
        let (workloads, now) = (workloads.to_vec(), self.clock.now());
        self.read(move |conn| read::waits_alone(conn, &workloads, now)).await
    }

    async fn next_due(&self) -> Result<Option<Timestamp>> {
        let now = self.clock.now();
        self.read(move |conn| read::next_due(conn, now)).await
    }

    async fn wait_for_work(&self, at_most: Duration) {
        let _ = tokio::time::timeout(at_most, self.work.notified()).await;
    }

    async fn cancel(&self, jobs: Vec<JobId>, keep: Option<Duration>) -> Result<Vec<Acted>> {
        self.write(Undo::Savepoint, move |tx| act::cancel(tx, &jobs, keep)).await
    }

    async fn retry(&self, jobs: Vec<JobId>, by: RetryBy) -> Result<Vec<Acted>> {
        self.write_work(Undo::Savepoint, move |tx| act::retry(tx, &jobs, &by)).await
    }

    async fn give_up(&self, call: GiveUp) -> Result<Vec<Acted>> {
        self.write(Undo::Savepoint, move |tx| act::give_up(tx, &call)).await
    }

    async fn reschedule(&self, jobs: Vec<JobId>, due_at: Timestamp) -> Result<Vec<Acted>> {
        self.write_work(Undo::Savepoint, move |tx| act::reschedule(tx, &jobs, due_at)).await
    }

    async fn discard(&self, offsets: Vec<Offset>) -> Result<u64> {
        self.write(Undo::Savepoint, move |tx| act::discard(tx, &offsets)).await
    }

    async fn move_group(&self, group: &Fingerprint, to: GroupState) -> Result<bool> {
        let group = group.clone();
        self.write(Undo::Savepoint, move |tx| act::move_group(tx, &group, to)).await
    }

    async fn pause(&self, workload: Option<&WorkloadName>, by: &str) -> Result<()> {
        let (workload, by) = (workload.map(|w| w.as_str().to_owned()), by.to_owned());
        self.write(Undo::Savepoint, move |tx| breaker::pause(tx, workload.as_deref(), &by)).await
    }

    async fn resume(&self, workload: Option<&WorkloadName>) -> Result<()> {
        let workload = workload.map(|w| w.as_str().to_owned());
        self.write_work(Undo::Savepoint, move |tx| breaker::resume(tx, workload.as_deref())).await
    }

    async fn paused(&self) -> Result<Vec<String>> {
        self.read(read::paused).await
    }

    async fn note_act(&self, act: NewAct) -> Result<i64> {
        self.write(Undo::Savepoint, move |tx| desk::note_act(tx, &act)).await
    }

    async fn conclude_act(&self, number: i64, end: ActEnd) -> Result<()> {
        self.write(Undo::Savepoint, move |tx| desk::conclude_act(tx, number, &end)).await
    }

    async fn acts(&self, filter: ActFilter, page: PageRequest) -> Result<Page<ActRow>> {
        self.read(move |conn| read::acts(conn, &filter, &page)).await
    }

    async fn take_key(&self, request: &Idempotency, by: &str) -> Result<Keyed> {
        let (request, by) = (request.clone(), by.to_owned());
        self.write(Undo::Savepoint, move |tx| key::take(tx, &request, &by)).await
    }

    async fn settle_key(&self, request: &Idempotency, by: &str, answer: Option<&str>) -> Result<()> {
        let (request, by, answer) = (request.clone(), by.to_owned(), answer.map(str::to_owned));
        self.write(Undo::Savepoint, move |tx| key::settle(tx, &request, &by, answer.as_deref())).await
    }

    async fn set_setting(&self, key: &str, value: Option<&str>, by: &str) -> Result<()> {
        let (key, value, by) = (key.to_owned(), value.map(str::to_owned), by.to_owned());
        self.write(Undo::Savepoint, move |tx| desk::set_setting(tx, &key, value.as_deref(), &by)).await
    }

    async fn first_setting(&self, key: &str, value: &str, by: &str) -> Result<String> {
        let (key, value, by) = (key.to_owned(), value.to_owned(), by.to_owned());
        self.write(Undo::Savepoint, move |tx| desk::first_setting(tx, &key, &value, &by)).await
    }

    async fn settings(&self, prefix: &str) -> Result<Vec<SettingRow>> {
        let prefix = prefix.to_owned();
        self.read(move |conn| read::settings(conn, &prefix)).await
    }

    async fn breakers(&self) -> Result<Vec<BreakerRow>> {
        self.read(|conn| read::breakers(conn, None)).await
    }

    async fn breaker(&self, target: &Target) -> Result<Option<BreakerRow>> {
        let target = target.clone();
        self.read(move |conn| Ok(read::breakers(conn, Some(&target))?.into_iter().next())).await
    }

    async fn swap_breaker(
        &self,
        target: &Target,
        expected: Option<i64>,
        machine: &Breaker,
        turn: Option<&Turn>,
    ) -> Result<Swapped> {
        let (target, machine, turn) = (target.clone(), machine.clone(), turn.cloned());
        let swap = move |tx: &mut Tx<'_>| breaker::swap(tx, &target, expected, &machine, turn.as_ref());
        self.write_work(Undo::Savepoint, swap).await
    }

    async fn breaker_turns(&self, target: Option<&Target>, page: PageRequest) -> Result<Page<TurnRow>> {
        let target = target.cloned();
        self.read(move |conn| read::turns(conn, target.as_ref(), &page)).await
    }

    async fn job(&self, id: JobId) -> Result<Option<JobRow>> {
        let now = self.clock.now();
        self.read(move |conn| read::job(conn, now, id)).await
    }

    async fn jobs(&self, filter: JobFilter, page: PageRequest) -> Result<Page<JobRow>> {
        let now = self.clock.now();
        self.read(move |conn| read::jobs(conn, now, &filter, &page)).await
    }

    async fn matching_jobs(&self, filter: JobFilter) -> Result<Matching<JobId>> {
        let now = self.clock.now();
        self.read(move |conn| read::matching_jobs(conn, now, &filter)).await
    }

    async fn payloads(&self, jobs: Vec<JobId>) -> Result<Vec<Option<Payload>>> {
        self.read(move |conn| jobs.iter().map(|job| read::payload(conn, *job)).collect()).await
    }

    async fn replay_counts(&self, replay: ReplayId) -> Result<ReplayCounts> {
        self.read(move |conn| read::replay_counts(conn, replay)).await
    }

    async fn attempts(&self, job: JobId) -> Result<Vec<AttemptRow>> {
        self.read(move |conn| read::attempts(conn, job)).await
    }

    async fn last_failures(&self, jobs: Vec<JobId>) -> Result<Vec<Option<LastFailure>>> {
        self.read(move |conn| jobs.iter().map(|job| read::last_failure(conn, *job)).collect()).await
    }

    async fn job_events(&self, job: JobId) -> Result<Vec<Event>> {
        self.read(move |conn| read::job_events(conn, job)).await
    }

    async fn events_after(&self, after: EventSeq, limit: usize) -> Result<Vec<Event>> {
        self.read(move |conn| read::events_after(conn, after, limit)).await
    }

    async fn last_event(&self) -> Result<EventSeq> {
        self.read(read::last_event).await
    }

    async fn batch(&self, id: BatchId) -> Result<Option<BatchRow>> {
        self.read(move |conn| read::batch(conn, id)).await
    }

    async fn batches(&self, filter: BatchFilter, page: PageRequest) -> Result<Page<BatchRow>> {
        self.read(move |conn| read::batches(conn, &filter, &page)).await
    }

    async fn batch_failures(&self, id: BatchId) -> Result<Vec<BatchFailures>> {
        self.read(move |conn| read::batch_failures(conn, id)).await
    }

    async fn dead_letters(&self, filter: DeadFilter, page: PageRequest) -> Result<Page<DeadRow>> {
        self.read(move |conn| read::dead_letters(conn, &filter, &page)).await
    }

    async fn matching_dead(&self, filter: DeadFilter) -> Result<Matching<Offset>> {
        self.read(move |conn| read::matching_dead(conn, &filter)).await
    }

    async fn count_dead(&self, filter: DeadFilter) -> Result<u64> {
        self.read(move |conn| read::count_dead(conn, &filter)).await
    }

    async fn dead_letter(&self, offset: Offset) -> Result<Option<DeadRow>> {
        self.read(move |conn| read::dead_letter(conn, offset)).await
    }

    async fn dead_letters_of(&self, job: JobId) -> Result<Vec<DeadRow>> {
        self.read(move |conn| read::dead_letters_of(conn, job)).await
    }

    async fn groups(&self, filter: GroupFilter, page: PageRequest) -> Result<Page<GroupRow>> {
        self.read(move |conn| read::groups(conn, &filter, &page)).await
    }

    async fn dead_counts(&self) -> Result<Vec<DeadCount>> {
        self.read(read::dead_counts).await
    }

    async fn roll_up(&self, limit: usize) -> Result<usize> {
        let gathered = self.read(move |conn| minutes::gather(conn, limit)).await?;
        if gathered.is_nothing() {
            return Ok(0);
        }
        self.write(Undo::Savepoint, move |tx| minutes::add(tx, &gathered)).await
    }

    async fn minutes(&self, since: Timestamp, minutes_per_slot: u32) -> Result<Vec<MinuteRow>> {
        self.read(move |conn| read::minutes(conn, since, minutes_per_slot)).await
    }

    async fn counts(&self) -> Result<Counts> {
        self.read(read::counts).await
    }

    async fn queues(&self) -> Result<Vec<WorkloadQueue>> {
        let now = self.clock.now();
        self.read(move |conn| read::queues(conn, now)).await
    }

    async fn expire(&self, jobs: Vec<JobId>) -> Result<Vec<Acted>> {
        self.write(Undo::Savepoint, move |tx| act::expire(tx, &jobs)).await
    }

    async fn purge(&self, chunk: Purge) -> Result<Purged> {
        self.write(Undo::Savepoint, move |tx| purge::purge(tx, chunk)).await
    }

    async fn purge_events(&self, upto: EventSeq, limit: usize) -> Result<u64> {
        self.write(Undo::Savepoint, move |tx| purge::purge_events(tx, upto, limit)).await
    }

    async fn prune_attempts(&self, job: JobId, keep: usize) -> Result<u64> {
        self.write(Undo::Savepoint, move |tx| purge::prune_attempts(tx, job, keep)).await
    }

    async fn is_answered(&self, owner: &Owner, key: &str) -> Result<bool> {
        let (owner, key) = (owner.clone(), key.to_owned());
        self.read(move |conn| read::is_answered(conn, &owner, &key)).await
    }

    async fn owner_counts(&self, owner: &Owner) -> Result<Vec<ShownCount>> {
        let (owner, now) = (owner.clone(), self.clock.now());
        self.read(move |conn| read::owner_counts(conn, now, &owner)).await
    }

    async fn open_session(&self, key: SessionKey) -> Result<()> {
        self.write(Undo::Savepoint, move |tx| session::open(tx, key)).await
    }

    async fn session(&self, key: SessionKey, life: SessionLife) -> Result<Option<SessionRow>> {
        let now = self.clock.now();
        self.read(move |conn| read::session(conn, now, key, life)).await
    }

    async fn touch_session(&self, key: SessionKey) -> Result<bool> {
        self.write(Undo::Savepoint, move |tx| session::touch(tx, key)).await
    }

    async fn end_session(&self, key: SessionKey) -> Result<bool> {
        self.write(Undo::Savepoint, move |tx| session::end(tx, key)).await
    }

    async fn forget_sessions(&self, life: SessionLife, limit: usize) -> Result<u64> {
        self.write(Undo::Savepoint, move |tx| session::forget(tx, life, limit)).await
    }

    async fn add_token(&self, token: NewToken) -> Result<()> {
        self.write(Undo::Savepoint, move |tx| token::add(tx, &token)).await
    }

    async fn token(&self, id: TokenId) -> Result<Option<TokenRow>> {
        let now = self.clock.now();
        self.read(move |conn| read::token(conn, now, id)).await
    }

    async fn tokens(&self) -> Result<Vec<TokenRow>> {
        let now = self.clock.now();
        self.read(move |conn| read::tokens(conn, now)).await
    }

    async fn revoke_token(&self, id: TokenId) -> Result<bool> {
        self.write(Undo::Savepoint, move |tx| token::revoke(tx, id)).await
    }

    async fn touch_token(&self, id: TokenId) -> Result<()> {
        self.write(Undo::Savepoint, move |tx| token::touch(tx, id)).await
    }

    async fn open_token_session(&self, key: SessionKey, token: TokenId) -> Result<bool> {
        self.write(Undo::Savepoint, move |tx| token::open_session(tx, key, token)).await
    }

    async fn forget(&self, before: Timestamp) -> Result<u64> {
        self.write(Undo::Savepoint, move |tx| purge::forget(tx, before)).await
    }

    async fn forget_targets(&self, before: Timestamp, limit: usize) -> Result<u64> {
        self.write(Undo::Savepoint, move |tx| targets::forget(tx, before, limit)).await
    }
}
