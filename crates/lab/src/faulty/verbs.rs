//! Every verb of the store, sent through the wire that breaks.

use std::time::Duration;

use async_trait::async_trait;
use redrive_model::breaker::{Breaker, Turn};
use redrive_model::fingerprint::Fingerprint;
use redrive_model::group::GroupState;
use redrive_model::{
    BatchId, EventSeq, JobId, Offset, Owner, ReplayId, Target, Timestamp, WorkerId, WorkloadName,
};
use redrive_store::{
    ActEnd, ActFilter, ActRow, Acted, AttemptRow, BatchFailures, BatchFilter, BatchRow, BreakerRow, Claim,
    Claimed, Counts, DeadCount, DeadFilter, DeadRow, Enqueue, EnqueueReply, Event, Expired, Extension,
    Finish, Finished, GiveUp, GroupFilter, GroupRow, Idempotency, JobFilter, JobRow, Keyed, LastFailure,
    Lease, Matching, MinuteRow, NewAct, NewEvent, NewToken, Page, PageRequest, Payload, Progress, Purge,
    Purged, ReplayCounts, Result, RetryBy, SessionKey, SessionLife, SessionRow, SettingRow, ShownCount,
    Store, Swapped, TokenId, TokenRow, TurnRow, WorkerBeat, WorkerRow, WorkloadQueue,
};

use super::{Faulty, Kind};

macro_rules! verbs {
    ($($kind:ident $verb:ident($($name:ident: $type:ty),*) -> $answer:ty;)+) => {
        #[async_trait]
        impl Store for Faulty {
            $(
                async fn $verb(&self, $($name: $type),*) -> Result<$answer> {
                    self.through(Kind::$kind, stringify!($verb), self.inner.$verb($($name),*)).await
                }
            )+

            async fn wait_for_work(&self, at_most: Duration) {
                self.hint(at_most).await;
            }
        }
    };
}

verbs! {
    Read now() -> Timestamp;
    Read owner_counts(owner: &Owner) -> Vec<ShownCount>;
    Write open_session(key: SessionKey) -> ();
    Read session(key: SessionKey, life: SessionLife) -> Option<SessionRow>;
    Write touch_session(key: SessionKey) -> bool;
    Write end_session(key: SessionKey) -> bool;
    Write forget_sessions(life: SessionLife, limit: usize) -> u64;
    Write add_token(token: NewToken) -> ();
    Read token(id: TokenId) -> Option<TokenRow>;
    Read tokens() -> Vec<TokenRow>;
    Write revoke_token(id: TokenId) -> bool;
    Write touch_token(id: TokenId) -> ();
    Write open_token_session(key: SessionKey, token: TokenId) -> bool;
    Write enqueue(call: Enqueue) -> EnqueueReply;
    Write enqueue_for(call: Enqueue, claim: Claim) -> (EnqueueReply, Vec<Claimed>);
    Read is_answered(owner: &Owner, key: &str) -> bool;
    Write publish(events: Vec<NewEvent>) -> ();
    Write claim(claim: Claim) -> Vec<Claimed>;
    Write extend(worker: WorkerId, leases: Vec<Lease>, ttl: Duration) -> Vec<Extension>;
    Write save_state(lease: Lease, state: Vec<u8>) -> bool;
    Write report_progress(lease: Lease, progress: Progress) -> bool;
    Write finish(finishes: Vec<Finish>) -> Vec<Finished>;
    Read leases_of(worker: WorkerId) -> Vec<Claimed>;
    Read expired(workloads: Option<&[WorkloadName]>, limit: usize) -> Vec<Expired>;
    Write beat(beat: WorkerBeat) -> bool;
    Write want_drained(worker: WorkerId, wanted: bool) -> bool;
    Read workers() -> Vec<WorkerRow>;
    Read waits_alone(workloads: &[WorkloadName]) -> bool;
    Read next_due() -> Option<Timestamp>;
    Write cancel(jobs: Vec<JobId>, keep: Option<Duration>) -> Vec<Acted>;
    Write retry(jobs: Vec<JobId>, by: RetryBy) -> Vec<Acted>;
    Write give_up(call: GiveUp) -> Vec<Acted>;
    Write reschedule(jobs: Vec<JobId>, due_at: Timestamp) -> Vec<Acted>;
    Write discard(offsets: Vec<Offset>) -> u64;
    Write move_group(group: &Fingerprint, to: GroupState) -> bool;
    Write pause(workload: Option<&WorkloadName>, by: &str) -> ();
    Write resume(workload: Option<&WorkloadName>) -> ();
    Read paused() -> Vec<String>;
    Write note_act(act: NewAct) -> i64;
    Write conclude_act(number: i64, end: ActEnd) -> ();
    Read acts(filter: ActFilter, page: PageRequest) -> Page<ActRow>;
    Write take_key(request: &Idempotency, by: &str) -> Keyed;
    Write settle_key(request: &Idempotency, by: &str, answer: Option<&str>) -> ();
    Write set_setting(key: &str, value: Option<&str>, by: &str) -> ();
    Write first_setting(key: &str, value: &str, by: &str) -> String;
    Read settings(prefix: &str) -> Vec<SettingRow>;
    Read breakers() -> Vec<BreakerRow>;
    Read breaker(target: &Target) -> Option<BreakerRow>;
    Write swap_breaker(target: &Target, expected: Option<i64>, breaker: &Breaker, turn: Option<&Turn>) -> Swapped;
    Read breaker_turns(target: Option<&Target>, page: PageRequest) -> Page<TurnRow>;
    Read job(id: JobId) -> Option<JobRow>;
    Read jobs(filter: JobFilter, page: PageRequest) -> Page<JobRow>;
    Read matching_jobs(filter: JobFilter) -> Matching<JobId>;
    Read payloads(jobs: Vec<JobId>) -> Vec<Option<Payload>>;
    Read replay_counts(replay: ReplayId) -> ReplayCounts;
    Read attempts(job: JobId) -> Vec<AttemptRow>;
    Read last_failures(jobs: Vec<JobId>) -> Vec<Option<LastFailure>>;
    Read job_events(job: JobId) -> Vec<Event>;
    Read events_after(after: EventSeq, limit: usize) -> Vec<Event>;
    Read last_event() -> EventSeq;
    Read batch(id: BatchId) -> Option<BatchRow>;
    Read batches(filter: BatchFilter, page: PageRequest) -> Page<BatchRow>;
    Read batch_failures(id: BatchId) -> Vec<BatchFailures>;
    Read dead_letters(filter: DeadFilter, page: PageRequest) -> Page<DeadRow>;
    Read matching_dead(filter: DeadFilter) -> Matching<Offset>;
    Read count_dead(filter: DeadFilter) -> u64;
    Read dead_letter(offset: Offset) -> Option<DeadRow>;
    Read dead_letters_of(job: JobId) -> Vec<DeadRow>;
    Read groups(filter: GroupFilter, page: PageRequest) -> Page<GroupRow>;
    Read dead_counts() -> Vec<DeadCount>;
    Write roll_up(limit: usize) -> usize;
    Read minutes(since: Timestamp, minutes_per_slot: u32) -> Vec<MinuteRow>;
    Read counts() -> Counts;
    Read queues() -> Vec<WorkloadQueue>;
    Write expire(jobs: Vec<JobId>) -> Vec<Acted>;
    Write purge(chunk: Purge) -> Purged;
    Write purge_events(upto: EventSeq, limit: usize) -> u64;
    Write prune_attempts(job: JobId, keep: usize) -> u64;
    Write forget(before: Timestamp) -> u64;
    Write forget_targets(before: Timestamp, limit: usize) -> u64;
}
