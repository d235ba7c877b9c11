//! The store: its pools, and the trait handed to verbs and readers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32};
use std::time::Duration;

use async_trait::async_trait;
use redrive_model::breaker::{Breaker, Turn};
use redrive_model::fingerprint::Fingerprint;
use redrive_model::group::GroupState;
use redrive_model::{
    BatchId, EventSeq, JobId, Offset, Owner, ReplayId, Target, Timestamp, WorkerId, WorkloadName, instant,
};
use redrive_store::{
    ActEnd, ActFilter, ActRow, Acted, AttemptRow, BatchFailures, BatchFilter, BatchRow, BreakerRow, Claim,
    Claimed, Counts, DeadCount, DeadFilter, DeadRow, Enqueue, EnqueueReply, Enqueued, Event, Expired,
    Extension, Finish, Finished, GiveUp, GroupFilter, GroupRow, Idempotency, JobFilter, JobRow, Keyed,
    LastFailure, Lease, Matching, MinuteRow, NewAct, NewEvent, NewToken, Page, PageRequest, Payload,
    Progress, Purge, Purged, ReplayCounts, Result, RetryBy, SessionKey, SessionLife, SessionRow, SettingRow,
    ShownCount, Store, StoreError, Swapped, TokenId, TokenRow, TurnRow, WorkerBeat, WorkerRow, WorkloadQueue,
    validate, validate_finishes, validate_setting, validate_state,
};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection, PgPool};

use crate::error::{
    Kind, answered, breathe, kind, once, repeating, rewriting, store_error, unsent, write_error,
};
use crate::horizon::Horizon;
use crate::hot::{Hot, Use};
use crate::lanes::{Lanes, is_gone};
use crate::options::Options;
use crate::read::{dead, desk as desk_read, jobs, minutes as counted, overview, trail};
use crate::sql::Sql;
use crate::verb::enqueue::{self, Fault};
use crate::verb::group::{self, Grouping};
use crate::verb::{
    act, born, breaker, claim, desk, finish, key, lease, minutes, purge, session, targets, token,
};
use crate::wake::Wake;

/// A call of at least this size goes its own way instead of joining a group.
const LARGE: usize = 100;

/// What the verbs share.
#[derive(Debug)]
pub(crate) struct Inner {
    /// For claim, finish and enqueue.
    pub(crate) hot: Hot,
    /// For looking, and for what people do.
    pub(crate) pool: PgPool,
    /// Kept for heartbeats, so that no slow query can take their connection.
    pub(crate) leases: Hot,
    pub(crate) sql: Sql,
    pub(crate) schema: String,
    pub(crate) lanes: Lanes,
    pub(crate) horizon: Horizon,
    pub(crate) wake: Wake,
    /// Where the next walk over lanes begins; 0 unless there are very many.
    pub(crate) cursor: AtomicI32,
    /// The last successes were members of batches: the next ones probably are too.
    pub(crate) batches_seen: AtomicBool,
}

impl Inner {
    /// Asks for every lane again when one of them was gone.
    fn hear<T>(&self, answer: std::result::Result<T, Fault>) -> std::result::Result<T, Fault> {
        answer.inspect_err(|fault| match fault {
            Fault::Db(error) if is_gone(error) => self.lanes.forget(),
            Fault::Db(_) | Fault::Store(_) => {}
        })
    }
}

/// Redrive's scale-out store.
#[derive(Debug)]
pub struct PostgresStore {
    inner: Arc<Inner>,
    grouping: Grouping,
}

impl PostgresStore {
    /// Connects with default options.
    pub async fn open(url: &str) -> Result<Self> {
        Options::default().open(url).await
    }

    pub(crate) fn start(
        hot: Hot,
        pool: PgPool,
        leases: Hot,
        connect: PgConnectOptions,
        schema: &str,
    ) -> Self {
        let inner = Arc::new(Inner {
            wake: Wake::start(pool.clone(), connect, schema),
            hot,
            pool,
            leases,
            sql: Sql::new(schema),
            schema: schema.to_owned(),
            lanes: Lanes::default(),
            horizon: Horizon::default(),
            cursor: AtomicI32::new(0),
            batches_seen: AtomicBool::new(false),
        });
        let grouping = Grouping::start(inner.clone());
        Self { inner, grouping }
    }

    /// Enqueues inside a transaction of the user's own: the jobs exist when and only when it commits, and workers are
    /// told then.
    pub async fn enqueue_in(&self, tx: &mut PgConnection, call: &Enqueue) -> Result<EnqueueReply> {
        validate(call)?;
        let lanes = repeating!(enqueue::lanes(&self.inner, &call.jobs))?;
        let reply = enqueue::in_transaction(tx, &self.inner, call, &lanes).await;
        let reply = self.inner.hear(reply).map_err(group::fault)?;
        self.inner.wake.hint_in(tx).await.map_err(store_error)?;
        Ok(reply)
    }

    /// Publishes events inside a transaction of the user's own.
    pub async fn publish_in(&self, tx: &mut PgConnection, events: &[NewEvent]) -> Result<()> {
        publish(&self.inner, tx, events).await.map_err(store_error)
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.inner
    }

    /// A connection with the settings that the hot verbs have.
    #[cfg(test)]
    pub(crate) async fn plain_connection(&self) -> sqlx::Result<PgConnection> {
        self.inner.hot.connect().await
    }

    /// Closes all connections.
    pub async fn close(&self) {
        self.inner.hot.close();
        self.inner.pool.close().await;
        self.inner.leases.close();
    }
}

async fn publish(inner: &Inner, conn: &mut PgConnection, events: &[NewEvent]) -> sqlx::Result<()> {
    sqlx::query(inner.sql.publish.text())
        .bind(events.iter().map(|e| e.topic.as_str()).collect::<Vec<_>>())
        .bind(events.iter().map(|e| e.payload.as_slice()).collect::<Vec<_>>())
        .execute(conn)
        .await
        .map(drop)
}

/// Makes a call in a transaction that only reads.
macro_rules! repeating_fault {
    ($call:expr) => {{
        let mut tries = 0u32;
        loop {
            match answered($call).await {
                Ok(value) => break Ok(value),
                Err(Fault::Db(error)) if tries < 3 && kind(&error).may_repeat() => {
                    tries += 1;
                    breathe(tries).await;
                }
                Err(fault) => break Err(group::fault(fault)),
            }
        }
    }};
}

/// Makes a call in a transaction that writes and may be repeated without harm. What nobody has answered in the end is unknown.
macro_rules! rewriting_fault {
    ($call:expr) => {{
        let (mut tries, mut unheard) = (0u32, false);
        loop {
            match answered($call).await {
                Ok(value) => break Ok(value),
                Err(Fault::Db(error)) => {
                    let kind = kind(&error);
                    unheard |= kind.is_unheard();
                    if tries == 3 || !kind.may_repeat() {
                        break Err(write_error(unheard, error));
                    }
                    tries += 1;
                    breathe(tries).await;
                }
                Err(Fault::Store(StoreError::Unavailable { reason })) if unheard => {
                    break Err(StoreError::Unknown { reason });
                }
                Err(Fault::Store(error)) => break Err(error),
            }
        }
    }};
}

/// Makes a call in a transaction that must not be repeated when its answer was lost.
macro_rules! once_fault {
    ($call:expr) => {{
        let mut tries = 0u32;
        loop {
            match answered($call).await {
                Ok(value) => break Ok(value),
                Err(Fault::Db(error)) if matches!(kind(&error), Kind::Lost | Kind::Silent) => {
                    break Err(StoreError::Unknown { reason: format!("the answer was lost: {error}") });
                }
                Err(Fault::Db(error)) if tries < 3 && kind(&error) == Kind::Retry => {
                    tries += 1;
                    breathe(tries).await;
                }
                Err(fault) => break Err(group::fault(fault)),
            }
        }
    }};
}

#[async_trait]
impl Store for PostgresStore {
    async fn now(&self) -> Result<Timestamp> {
        let ms: i64 = repeating!(sqlx::query_scalar(self.inner.sql.now.text()).fetch_one(&self.inner.pool))?;
        Ok(instant::from_millis(ms))
    }

    async fn enqueue(&self, call: Enqueue) -> Result<EnqueueReply> {
        validate(&call)?;
        let inner = &*self.inner;
        if enqueue::is_plain(&call) {
            let jobs = match call.jobs.len() {
                0 => Vec::new(),
                n if n >= LARGE => group::plain(inner, &call.jobs).await?,
                _ => self.grouping.enqueue(call.jobs).await?,
            };
            return Ok(EnqueueReply { jobs, replayed: false });
        }
        // Ids make it safe to repeat: what a lost commit has written is found again. Until the commit is sent nothing is.
        let reply = rewriting_fault!(async {
            let lanes = enqueue::lanes(inner, &call.jobs).await.map_err(unsent)?;
            let mut lent = inner.hot.take(Use::Write).await?;
            let mut tx = lent.conn().begin().await.map_err(unsent)?;
            let reply = enqueue::in_transaction(&mut tx, inner, &call, &lanes).await;
            let reply = inner.hear(reply).map_err(Fault::unsent)?;
            let done = tx.commit().await;
            lent.settle(done)?;
            Ok(reply)
        })?;
        inner.wake.hint();
        Ok(reply)
    }

    async fn enqueue_for(&self, call: Enqueue, claim: Claim) -> Result<(EnqueueReply, Vec<Claimed>)> {
        validate(&call)?;
        if !born::can_be(&call, &claim) {
            return Ok((self.enqueue(call).await?, Vec::new()));
        }
        let inner = &*self.inner;
        let made = once!(async {
            let lanes = enqueue::lanes(inner, &call.jobs).await?;
            inner.lanes.hear(born::create(inner, &call.jobs, &lanes, &claim).await)
        })?;
        match made {
            Some(claimed) => {
                // Others hear only of what is left.
                if claimed.len() < call.jobs.len() {
                    inner.wake.hint();
                }
                let jobs = call.jobs.iter().map(|job| Enqueued::Created(job.id)).collect();
                Ok((EnqueueReply { jobs, replayed: false }, claimed))
            }
            None => Ok((self.enqueue(call).await?, Vec::new())),
        }
    }

    async fn publish(&self, events: Vec<NewEvent>) -> Result<()> {
        once!(async {
            let mut conn = self.inner.pool.acquire().await?;
            publish(&self.inner, &mut conn, &events).await
        })
    }

    async fn claim(&self, claim: Claim) -> Result<Vec<Claimed>> {
        once!(claim::claim(&self.inner, &claim))
    }

    async fn extend(&self, worker: WorkerId, leases: Vec<Lease>, ttl: Duration) -> Result<Vec<Extension>> {
        rewriting!(lease::extend(&self.inner, worker, &leases, ttl))
    }

    async fn save_state(&self, lease: Lease, state: Vec<u8>) -> Result<bool> {
        validate_state(&state)?;
        rewriting!(lease::save_state(&self.inner, lease, &state))
    }

    async fn report_progress(&self, lease: Lease, progress: Progress) -> Result<bool> {
        rewriting!(lease::report_progress(&self.inner, lease, &progress))
    }

    async fn finish(&self, finishes: Vec<Finish>) -> Result<Vec<Finished>> {
        validate_finishes(&finishes)?;
        let answers = rewriting_fault!(finish::finish(&self.inner, &finishes))?;
        let requeued = finishes.iter().any(|f| matches!(f.step, redrive_store::Step::Requeue { .. }));
        if requeued || self.inner.batches_seen.load(std::sync::atomic::Ordering::Relaxed) {
            self.inner.wake.hint();
        }
        Ok(answers)
    }

    async fn leases_of(&self, worker: WorkerId) -> Result<Vec<Claimed>> {
        repeating!(claim::leases_of(&self.inner, worker))
    }

    async fn expired(&self, workloads: Option<&[WorkloadName]>, limit: usize) -> Result<Vec<Expired>> {
        repeating!(lease::expired(&self.inner, workloads, limit))
    }

    async fn beat(&self, beat: WorkerBeat) -> Result<bool> {
        rewriting!(lease::beat(&self.inner, &beat))
    }

    async fn want_drained(&self, worker: WorkerId, wanted: bool) -> Result<bool> {
        rewriting!(lease::want_drained(&self.inner, worker, wanted))
    }

    async fn workers(&self) -> Result<Vec<WorkerRow>> {
        repeating!(overview::workers(&self.inner))
    }

    async fn waits_alone(&self, workloads: &[WorkloadName]) -> Result<bool> {
        repeating!(overview::waits_alone(&self.inner, workloads))
    }

    async fn next_due(&self) -> Result<Option<Timestamp>> {
        repeating!(overview::next_due(&self.inner))
    }

    async fn wait_for_work(&self, at_most: Duration) {
        self.inner.wake.wait(at_most).await;
    }

    async fn cancel(&self, jobs: Vec<JobId>, keep: Option<Duration>) -> Result<Vec<Acted>> {
        once_fault!(act::cancel(&self.inner, &jobs, keep))
    }

    async fn retry(&self, jobs: Vec<JobId>, by: RetryBy) -> Result<Vec<Acted>> {
        once_fault!(act::retry(&self.inner, &jobs, &by))
    }

    async fn give_up(&self, call: GiveUp) -> Result<Vec<Acted>> {
        once_fault!(act::give_up(&self.inner, &call))
    }

    async fn reschedule(&self, jobs: Vec<JobId>, due_at: Timestamp) -> Result<Vec<Acted>> {
        rewriting_fault!(act::reschedule(&self.inner, &jobs, due_at))
    }

    async fn discard(&self, offsets: Vec<Offset>) -> Result<u64> {
        once!(act::discard(&self.inner, &offsets))
    }

    async fn move_group(&self, group: &Fingerprint, to: GroupState) -> Result<bool> {
        once!(act::move_group(&self.inner, group, to))
    }

    async fn pause(&self, workload: Option<&WorkloadName>, by: &str) -> Result<()> {
        rewriting!(breaker::pause(&self.inner, workload.map(|w| w.as_str()), by))
    }

    async fn resume(&self, workload: Option<&WorkloadName>) -> Result<()> {
        rewriting!(breaker::resume(&self.inner, workload.map(|w| w.as_str())))
    }

    async fn paused(&self) -> Result<Vec<String>> {
        repeating!(overview::paused(&self.inner))
    }

    async fn note_act(&self, act: NewAct) -> Result<i64> {
        once!(desk::note_act(&self.inner, &act))
    }

    async fn conclude_act(&self, number: i64, end: ActEnd) -> Result<()> {
        rewriting!(desk::conclude_act(&self.inner, number, &end))
    }

    async fn acts(&self, filter: ActFilter, page: PageRequest) -> Result<Page<ActRow>> {
        repeating_fault!(desk_read::acts(&self.inner, &filter, &page))
    }

    async fn take_key(&self, request: &Idempotency, by: &str) -> Result<Keyed> {
        request.validate()?;
        rewriting_fault!(key::take(&self.inner, request, by))
    }

    async fn settle_key(&self, request: &Idempotency, by: &str, answer: Option<&str>) -> Result<()> {
        rewriting!(key::settle(&self.inner, request, by, answer))
    }

    async fn set_setting(&self, key: &str, value: Option<&str>, by: &str) -> Result<()> {
        validate_setting(key)?;
        rewriting!(desk::set_setting(&self.inner, key, value, by))
    }

    async fn first_setting(&self, key: &str, value: &str, by: &str) -> Result<String> {
        validate_setting(key)?;
        rewriting!(desk::first_setting(&self.inner, key, value, by))
    }

    async fn settings(&self, prefix: &str) -> Result<Vec<SettingRow>> {
        repeating!(desk_read::settings(&self.inner, prefix))
    }

    async fn breakers(&self) -> Result<Vec<BreakerRow>> {
        repeating!(breaker::breakers(&self.inner, None))
    }

    async fn breaker(&self, target: &Target) -> Result<Option<BreakerRow>> {
        Ok(repeating!(breaker::breakers(&self.inner, Some(target)))?.into_iter().next())
    }

    async fn swap_breaker(
        &self,
        target: &Target,
        expected: Option<i64>,
        machine: &Breaker,
        turn: Option<&Turn>,
    ) -> Result<Swapped> {
        once!(breaker::swap(&self.inner, target, expected, machine, turn))
    }

    async fn breaker_turns(&self, target: Option<&Target>, page: PageRequest) -> Result<Page<TurnRow>> {
        repeating_fault!(counted::turns(&self.inner, target, &page))
    }

    async fn job(&self, id: JobId) -> Result<Option<JobRow>> {
        repeating!(jobs::job(&self.inner, id))
    }

    async fn jobs(&self, filter: JobFilter, page: PageRequest) -> Result<Page<JobRow>> {
        repeating_fault!(jobs::jobs(&self.inner, &filter, &page))
    }

    async fn matching_jobs(&self, filter: JobFilter) -> Result<Matching<JobId>> {
        repeating_fault!(jobs::matching_jobs(&self.inner, &filter))
    }

    async fn payloads(&self, jobs: Vec<JobId>) -> Result<Vec<Option<Payload>>> {
        repeating!(desk_read::payloads(&self.inner, &jobs))
    }

    async fn replay_counts(&self, replay: ReplayId) -> Result<ReplayCounts> {
        repeating!(desk_read::replay_counts(&self.inner, replay))
    }

    async fn attempts(&self, job: JobId) -> Result<Vec<AttemptRow>> {
        repeating!(trail::attempts(&self.inner, job))
    }

    async fn last_failures(&self, jobs: Vec<JobId>) -> Result<Vec<Option<LastFailure>>> {
        repeating!(trail::last_failures(&self.inner, &jobs))
    }

    async fn job_events(&self, job: JobId) -> Result<Vec<Event>> {
        repeating!(trail::job_events(&self.inner, job))
    }

    async fn events_after(&self, after: EventSeq, limit: usize) -> Result<Vec<Event>> {
        repeating_fault!(trail::events_after(&self.inner, after, limit))
    }

    async fn last_event(&self) -> Result<EventSeq> {
        repeating!(trail::last_event(&self.inner))
    }

    async fn batch(&self, id: BatchId) -> Result<Option<BatchRow>> {
        repeating!(jobs::batch(&self.inner, id))
    }

    async fn batches(&self, filter: BatchFilter, page: PageRequest) -> Result<Page<BatchRow>> {
        repeating_fault!(jobs::batches(&self.inner, &filter, &page))
    }

    async fn batch_failures(&self, id: BatchId) -> Result<Vec<BatchFailures>> {
        repeating!(jobs::batch_failures(&self.inner, id))
    }

    async fn dead_letters(&self, filter: DeadFilter, page: PageRequest) -> Result<Page<DeadRow>> {
        repeating_fault!(dead::dead_letters(&self.inner, &filter, &page))
    }

    async fn matching_dead(&self, filter: DeadFilter) -> Result<Matching<Offset>> {
        repeating!(dead::matching_dead(&self.inner, &filter))
    }

    async fn count_dead(&self, filter: DeadFilter) -> Result<u64> {
        repeating!(dead::count_dead(&self.inner, &filter))
    }

    async fn dead_letter(&self, offset: Offset) -> Result<Option<DeadRow>> {
        repeating!(dead::dead_letter(&self.inner, offset))
    }

    async fn dead_letters_of(&self, job: JobId) -> Result<Vec<DeadRow>> {
        repeating!(dead::dead_letters_of(&self.inner, job))
    }

    async fn groups(&self, filter: GroupFilter, page: PageRequest) -> Result<Page<GroupRow>> {
        repeating_fault!(dead::groups(&self.inner, &filter, &page))
    }

    async fn dead_counts(&self) -> Result<Vec<DeadCount>> {
        repeating!(counted::dead_counts(&self.inner))
    }

    async fn roll_up(&self, limit: usize) -> Result<usize> {
        rewriting!(minutes::roll_up(&self.inner, limit))
    }

    async fn minutes(&self, since: Timestamp, minutes_per_slot: u32) -> Result<Vec<MinuteRow>> {
        repeating!(counted::minutes(&self.inner, since, minutes_per_slot))
    }

    async fn counts(&self) -> Result<Counts> {
        repeating!(overview::counts(&self.inner))
    }

    async fn queues(&self) -> Result<Vec<WorkloadQueue>> {
        repeating!(overview::queues(&self.inner))
    }

    async fn expire(&self, jobs: Vec<JobId>) -> Result<Vec<Acted>> {
        rewriting_fault!(act::expire(&self.inner, &jobs))
    }

    async fn purge(&self, chunk: Purge) -> Result<Purged> {
        rewriting!(purge::purge(&self.inner, chunk))
    }

    async fn purge_events(&self, upto: EventSeq, limit: usize) -> Result<u64> {
        rewriting!(purge::purge_events(&self.inner, upto, limit))
    }

    async fn prune_attempts(&self, job: JobId, keep: usize) -> Result<u64> {
        rewriting!(purge::prune_attempts(&self.inner, job, keep))
    }

    async fn is_answered(&self, owner: &Owner, key: &str) -> Result<bool> {
        repeating!(enqueue::is_answered(&self.inner, owner, key))
    }

    async fn owner_counts(&self, owner: &Owner) -> Result<Vec<ShownCount>> {
        repeating!(session::owner_counts(&self.inner, owner))
    }

    async fn open_session(&self, key: SessionKey) -> Result<()> {
        rewriting!(session::open(&self.inner, key))
    }

    async fn session(&self, key: SessionKey, life: SessionLife) -> Result<Option<SessionRow>> {
        repeating!(session::find(&self.inner, key, life))
    }

    async fn touch_session(&self, key: SessionKey) -> Result<bool> {
        rewriting!(session::touch(&self.inner, key))
    }

    async fn end_session(&self, key: SessionKey) -> Result<bool> {
        once!(session::end(&self.inner, key))
    }

    async fn forget_sessions(&self, life: SessionLife, limit: usize) -> Result<u64> {
        rewriting!(session::forget(&self.inner, life, limit))
    }

    async fn add_token(&self, token: NewToken) -> Result<()> {
        rewriting!(token::add(&self.inner, &token))
    }

    async fn token(&self, id: TokenId) -> Result<Option<TokenRow>> {
        repeating!(token::find(&self.inner, id))
    }

    async fn tokens(&self) -> Result<Vec<TokenRow>> {
        repeating!(token::all(&self.inner))
    }

    async fn revoke_token(&self, id: TokenId) -> Result<bool> {
        rewriting!(token::revoke(&self.inner, id))
    }

    async fn touch_token(&self, id: TokenId) -> Result<()> {
        rewriting!(token::touch(&self.inner, id))
    }

    async fn open_token_session(&self, key: SessionKey, token: TokenId) -> Result<bool> {
        rewriting!(token::open_session(&self.inner, key, token))
    }

    async fn forget(&self, before: Timestamp) -> Result<u64> {
        rewriting!(purge::forget(&self.inner, before))
    }

    async fn forget_targets(&self, before: Timestamp, limit: usize) -> Result<u64> {
        rewriting!(targets::forget(&self.inner, before, limit))
    }
}
