//! The trait itself. Read it as the table of contents of what a store can do.

use async_trait::async_trait;
use redrive_model::breaker::{Breaker, Turn};
use redrive_model::fingerprint::Fingerprint;
use redrive_model::group::GroupState;
use redrive_model::{
    BatchId, EventSeq, JobId, Offset, Owner, ReplayId, Target, Timestamp, WorkerId, WorkloadName,
};
use std::time::Duration;

use crate::{
    ActEnd, ActFilter, ActRow, Acted, AttemptRow, BatchFailures, BatchFilter, BatchRow, BreakerRow, Claim,
    Claimed, Counts, DeadCount, DeadFilter, DeadRow, Enqueue, EnqueueReply, Event, Expired, Extension,
    Finish, Finished, GiveUp, GroupFilter, GroupRow, Idempotency, JobFilter, JobRow, Keyed, LastFailure,
    Lease, Matching, MinuteRow, NewAct, NewEvent, NewToken, Page, PageRequest, Payload, Progress, Purge,
    Purged, QueueStats, ReplayCounts, Result, RetryBy, SessionKey, SessionLife, SessionRow, SettingRow,
    ShownCount, Swapped, TokenId, TokenRow, TurnRow, WorkerBeat, WorkerRow, WorkloadQueue,
};

/// Where jobs live.
///
/// Calls that take many items answer in the same order, one answer for each. An error means that nothing of the call
/// was written, except [`StoreError::Unknown`](crate::StoreError::Unknown), which means: read back.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// The store's clock: the only one that decides anything that is written down.
    async fn now(&self) -> Result<Timestamp>;

    // --- handing work in ---------------------------------------------------------------------------------------

    /// Opens batches, creates jobs, seals batches: all of it or nothing.
    async fn enqueue(&self, call: Enqueue) -> Result<EnqueueReply>;

    /// The same for a worker that waits for work: what it may run now is claimed in the same commit, unless other work
    /// stands before it. A store that cannot do that claims nothing.
    async fn enqueue_for(&self, call: Enqueue, claim: Claim) -> Result<(EnqueueReply, Vec<Claimed>)> {
        let _ = claim;
        Ok((self.enqueue(call).await?, Vec::new()))
    }

    /// Whether an [`enqueue`](Self::enqueue) with this key of this owner has its answer: it is given again, and nothing is written.
    async fn is_answered(&self, owner: &Owner, key: &str) -> Result<bool>;

    /// Appends users' own events.
    async fn publish(&self, events: Vec<NewEvent>) -> Result<()>;

    // --- working -----------------------------------------------------------------------------------------------

    /// Takes up to `limit` jobs that may run now, in the order priority, due time, id. Held, paused and full ones are
    /// left alone and cost nothing.
    async fn claim(&self, claim: Claim) -> Result<Vec<Claimed>>;

    /// Keeps leases for another `ttl` from now. One contended row does not stop the others.
    async fn extend(&self, worker: WorkerId, leases: Vec<Lease>, ttl: Duration) -> Result<Vec<Extension>>;

    /// Saves durable execution state under the lease. Answers whether the lease still stood.
    async fn save_state(&self, lease: Lease, state: Vec<u8>) -> Result<bool>;

    /// Says how far a job is, under the lease. Answers whether the lease still stood.
    async fn report_progress(&self, lease: Lease, progress: Progress) -> Result<bool>;

    /// Records how attempts ended. A holder that repeats a finish whose answer was lost gets the same answer, whatever
    /// became of the job since; see [`Finish::is_repetition_of`].
    async fn finish(&self, finishes: Vec<Finish>) -> Result<Vec<Finished>>;

    /// What this worker holds, for finding out what a lost answer to a claim was.
    async fn leases_of(&self, worker: WorkerId) -> Result<Vec<Claimed>>;

    /// Leases of these workloads (`None`: of all) that have run out, oldest first, at most `limit`. Taking them back is a
    /// [`Store::finish`] with [`Authority::Expired`](crate::Authority::Expired).
    async fn expired(&self, workloads: Option<&[WorkloadName]>, limit: usize) -> Result<Vec<Expired>>;

    /// A worker says that it lives. Answers whether somebody wants it to take no new work.
    async fn beat(&self, beat: WorkerBeat) -> Result<bool>;

    /// Somebody wants a worker to take no new work, or wants that no longer: it hears of it with its next beat. Answers whether the worker is
    /// known. Doing it twice changes nothing.
    async fn want_drained(&self, worker: WorkerId, wanted: bool) -> Result<bool>;

    /// All workers that are known.
    async fn workers(&self) -> Result<Vec<WorkerRow>>;

    /// Whether a job of these workloads that must run alone is due.
    async fn waits_alone(&self, workloads: &[WorkloadName]) -> Result<bool>;

    /// When the next queued job that is not due yet becomes due, for workers that have nothing to do. What is due already
    /// and was not claimed is held, paused or not theirs.
    async fn next_due(&self) -> Result<Option<Timestamp>>;

    /// Waits until work may have become ready, at most so long. It is a hint that may come for nothing or get lost:
    /// asking again now and then stays necessary.
    async fn wait_for_work(&self, at_most: Duration);

    // --- acting by hand ----------------------------------------------------------------------------------------

    /// Stops jobs that wait or run; the rows are kept for `keep`.
    async fn cancel(&self, jobs: Vec<JobId>, keep: Option<Duration>) -> Result<Vec<Acted>>;

    /// Starts a new generation of failed jobs and closes their dead letters. A job that was refused at the door has no
    /// source and no dead letter, and cannot be retried: it is in the wrong state.
    async fn retry(&self, jobs: Vec<JobId>, by: RetryBy) -> Result<Vec<Acted>>;

    /// Gives up jobs that wait.
    async fn give_up(&self, call: GiveUp) -> Result<Vec<Acted>>;

    /// Changes when waiting jobs may run; an instant in the past is now. A job that waits for a batch is in the wrong
    /// state.
    async fn reschedule(&self, jobs: Vec<JobId>, due_at: Timestamp) -> Result<Vec<Acted>>;

    /// Marks open dead letters as not wanted. Answers how many were open.
    async fn discard(&self, offsets: Vec<Offset>) -> Result<u64>;

    /// Moves a group by hand. Answers whether that was a legal move.
    async fn move_group(&self, group: &Fingerprint, to: GroupState) -> Result<bool>;

    /// Pauses a workload, or all with `None`. Doing it twice changes nothing.
    async fn pause(&self, workload: Option<&WorkloadName>, by: &str) -> Result<()>;

    /// Ends a pause.
    async fn resume(&self, workload: Option<&WorkloadName>) -> Result<()>;

    /// What is paused; an empty name stands for everything.
    async fn paused(&self) -> Result<Vec<String>>;

    /// Notes who is about to do what. Answers its number, under which [`Store::conclude_act`] adds what became of it.
    async fn note_act(&self, act: NewAct) -> Result<i64>;

    /// Adds what became of an act, once: where that is said already, nothing changes. The trail only grows, and the database itself refuses
    /// whoever would change or remove one of its lines.
    async fn conclude_act(&self, number: i64, end: ActEnd) -> Result<()>;

    /// The audit trail, newest first.
    async fn acts(&self, filter: ActFilter, page: PageRequest) -> Result<Page<ActRow>>;

    /// Takes the key of a request that hands nothing in, for the request that calls itself `by`. Of many that ask, one hears that it is theirs,
    /// also when it asks again because it heard nothing. Another request with the same key is refused.
    async fn take_key(&self, request: &Idempotency, by: &str) -> Result<Keyed>;

    /// Settles what `by` took: its answer is kept, or, with `None`, nobody has used the key. What is not theirs stays as it is.
    async fn settle_key(&self, request: &Idempotency, by: &str, answer: Option<&str>) -> Result<()>;

    /// Changes a setting at run time; `None` takes it back.
    async fn set_setting(&self, key: &str, value: Option<&str>, by: &str) -> Result<()>;

    /// Gives a setting its first value, and answers the one that holds: of many who ask at once exactly one hears its own.
    async fn first_setting(&self, key: &str, value: &str, by: &str) -> Result<String>;

    /// Settings whose name begins so, sorted by name.
    async fn settings(&self, prefix: &str) -> Result<Vec<SettingRow>>;

    // --- breakers ----------------------------------------------------------------------------------------------

    /// All breakers.
    async fn breakers(&self) -> Result<Vec<BreakerRow>>;

    /// One breaker, if it was ever written.
    async fn breaker(&self, target: &Target) -> Result<Option<BreakerRow>>;

    /// Writes a breaker if its version is still `expected` (`None`: if it does not exist), and with it what it did, where that is of
    /// interest to people.
    async fn swap_breaker(
        &self,
        target: &Target,
        expected: Option<i64>,
        breaker: &Breaker,
        turn: Option<&Turn>,
    ) -> Result<Swapped>;

    /// What breakers did, newest first; of one target or of all. The last [`KEEP_TURNS`](crate::KEEP_TURNS) of each are kept.
    async fn breaker_turns(&self, target: Option<&Target>, page: PageRequest) -> Result<Page<TurnRow>>;

    // --- looking -----------------------------------------------------------------------------------------------

    /// One job.
    async fn job(&self, id: JobId) -> Result<Option<JobRow>>;

    /// Jobs, newest first.
    async fn jobs(&self, filter: JobFilter, page: PageRequest) -> Result<Page<JobRow>>;

    /// How many jobs a filter matches, and the newest of them by its id; exact, and it takes as long as there are jobs to look at.
    async fn matching_jobs(&self, filter: JobFilter) -> Result<Matching<JobId>>;

    /// How many jobs a filter matches.
    async fn count_jobs(&self, filter: JobFilter) -> Result<u64> {
        Ok(self.matching_jobs(filter).await?.count)
    }

    /// What jobs carry; nothing for one that is not there (any more).
    async fn payloads(&self, jobs: Vec<JobId>) -> Result<Vec<Option<Payload>>>;

    /// What one job carries.
    async fn payload(&self, job: JobId) -> Result<Option<Payload>> {
        Ok(self.payloads(vec![job]).await?.pop().flatten())
    }

    /// Where the jobs of a replay are. One that failed again counts as failed, also when somebody has started it once more since.
    async fn replay_counts(&self, replay: ReplayId) -> Result<ReplayCounts>;

    /// The executions of a job, oldest first.
    async fn attempts(&self, job: JobId) -> Result<Vec<AttemptRow>>;

    /// The newest failure among the attempts of each job, with one look; nothing where none has failed, or the job is not there
    /// (any more).
    async fn last_failures(&self, jobs: Vec<JobId>) -> Result<Vec<Option<LastFailure>>>;

    /// The transitions of a job, oldest first, as far as its events are kept. None of a job that is not there (any more).
    async fn job_events(&self, job: JobId) -> Result<Vec<Event>>;

    /// Up to `limit` events behind `after`, in order, with none skipped: an event is handed out only when no earlier
    /// one can still appear.
    async fn events_after(&self, after: EventSeq, limit: usize) -> Result<Vec<Event>>;

    /// The newest event that readers may see.
    async fn last_event(&self) -> Result<EventSeq>;

    /// One batch.
    async fn batch(&self, id: BatchId) -> Result<Option<BatchRow>>;

    /// Batches, newest first.
    async fn batches(&self, filter: BatchFilter, page: PageRequest) -> Result<Page<BatchRow>>;

    /// The failed members of a batch by minute and code, in this order; exact, like its counters.
    async fn batch_failures(&self, id: BatchId) -> Result<Vec<BatchFailures>>;

    /// Dead letters, newest first unless the filter says otherwise.
    async fn dead_letters(&self, filter: DeadFilter, page: PageRequest) -> Result<Page<DeadRow>>;

    /// How many dead letters a filter matches, and the newest of them, wherever it is: exact, in one look, and it takes as long as there are
    /// letters to look at.
    async fn matching_dead(&self, filter: DeadFilter) -> Result<Matching<Offset>>;

    /// How many dead letters a filter matches; without a time or an owner it is read from the groups, and costs the same whatever waits.
    async fn count_dead(&self, filter: DeadFilter) -> Result<u64>;

    /// One dead letter.
    async fn dead_letter(&self, offset: Offset) -> Result<Option<DeadRow>>;

    /// The dead letters of a job, in whichever state, oldest first: one for every generation that died.
    async fn dead_letters_of(&self, job: JobId) -> Result<Vec<DeadRow>>;

    /// Failure groups, the most recently seen first.
    async fn groups(&self, filter: GroupFilter, page: PageRequest) -> Result<Page<GroupRow>>;

    /// How many dead letters wait, by workload and code; exact, and read from the groups, so that it costs the same whatever waits.
    async fn dead_counts(&self) -> Result<Vec<DeadCount>>;

    /// Counts the next events by minute, at most so many rows of them. Answers how many it went over: as many as it was allowed to
    /// means that there may be more. When somebody else counts at the same time one of the two counts nothing.
    async fn roll_up(&self, limit: usize) -> Result<usize>;

    /// What was counted from this minute on, in slots of so many minutes, as far as counts are kept
    /// ([`KEEP_MINUTES`](crate::KEEP_MINUTES)). Sorted by slot.
    async fn minutes(&self, since: Timestamp, minutes_per_slot: u32) -> Result<Vec<MinuteRow>>;

    /// Exact counts.
    async fn counts(&self) -> Result<Counts>;

    /// How the queue of each workload is, where something waits or runs, sorted by name.
    async fn queues(&self) -> Result<Vec<WorkloadQueue>>;

    /// How the whole queue is.
    async fn queue(&self) -> Result<QueueStats> {
        Ok(self.queues().await?.iter().map(|queue| queue.stats).sum())
    }

    /// How many jobs of an owner people see in each state, zero left out; the newest
    /// [`MAX_OWNER_COUNT`](crate::MAX_OWNER_COUNT) are counted.
    async fn owner_counts(&self, owner: &Owner) -> Result<Vec<ShownCount>>;

    // --- sessions ----------------------------------------------------------------------------------------------

    /// Begins a session. One that is there already stays as it is.
    async fn open_session(&self, key: SessionKey) -> Result<()>;

    /// A session that lives: begun, not ended, and neither limit of its life reached.
    async fn session(&self, key: SessionKey, life: SessionLife) -> Result<Option<SessionRow>>;

    /// Notes that a session was seen just now. Answers whether it is there.
    async fn touch_session(&self, key: SessionKey) -> Result<bool>;

    /// Ends a session. Answers whether it was there.
    async fn end_session(&self, key: SessionKey) -> Result<bool>;

    /// Removes up to `limit` sessions whose life is over.
    async fn forget_sessions(&self, life: SessionLife, limit: usize) -> Result<u64>;

    // --- operators' tokens -------------------------------------------------------------------------------------

    /// Keeps a token. One with its id that is there already stays as it is.
    async fn add_token(&self, token: NewToken) -> Result<()>;

    /// A token, whether or not it is still good.
    async fn token(&self, id: TokenId) -> Result<Option<TokenRow>>;

    /// All tokens, the newest first, up to [`MAX_TOKENS`](crate::MAX_TOKENS).
    async fn tokens(&self) -> Result<Vec<TokenRow>>;

    /// Takes a token back, for good, and ends the sessions that were begun with it. Answers whether there is such a token.
    async fn revoke_token(&self, id: TokenId) -> Result<bool>;

    /// Notes that a token was used just now.
    async fn touch_token(&self, id: TokenId) -> Result<()>;

    /// Begins a session with a token that is good; it ends with the token. Answers whether it was good.
    async fn open_token_session(&self, key: SessionKey, token: TokenId) -> Result<bool>;

    // --- retention ---------------------------------------------------------------------------------------------

    /// Notes that retention removed the artifacts of complete jobs; their dedupe keys become free.
    async fn expire(&self, jobs: Vec<JobId>) -> Result<Vec<Acted>>;

    /// Removes one chunk of finished jobs whose time is over, with everything that belongs to them: payload, attempts and
    /// dead letters, which then no longer count in their group. A member lives as long as its batch.
    async fn purge(&self, chunk: Purge) -> Result<Purged>;

    /// Removes up to `limit` events up to and including `upto`. The newest event always stays.
    async fn purge_events(&self, upto: EventSeq, limit: usize) -> Result<u64>;

    /// Removes all but the newest `keep` attempts of a job.
    async fn prune_attempts(&self, job: JobId, keep: usize) -> Result<u64>;

    /// Removes idempotency keys and workers that were last used before `before`, and what breakers did before it.
    async fn forget(&self, before: Timestamp) -> Result<u64>;

    /// Removes what is left of targets that nobody uses any more: lanes without a job, and breakers that have not changed since
    /// `before` and say nothing any more ([`Breaker::is_forgettable`]); at most so many of each. Answers how many in all.
    async fn forget_targets(&self, before: Timestamp, limit: usize) -> Result<u64>;
}
