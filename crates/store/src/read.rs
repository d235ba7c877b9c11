//! What can be looked at, by keyset pages.

use redrive_model::batch::{Counters, EndRule};
use redrive_model::decide::{DeadReason, Rule};
use redrive_model::fingerprint::Fingerprint;
use redrive_model::group::GroupState;
use redrive_model::limits::{MAX_PAGE, MAX_REACH};
use redrive_model::{
    BatchId, BatchState, Code, JobId, LeaseToken, Offset, Owner, ReplayId, Shown, State, Target, TargetSet,
    Timestamp, WorkerId, WorkloadName, instant,
};

use crate::{Progress, Result, StoreError};

/// Which part of a list.
#[derive(Debug, Clone, Default)]
pub struct PageRequest {
    /// At most so many rows; 0 means the default of 50.
    pub limit: usize,
    /// Where the page before ended.
    pub cursor: Option<String>,
}

impl PageRequest {
    /// The number of rows to answer with.
    #[must_use]
    pub fn rows(&self) -> usize {
        if self.limit == 0 { 50 } else { self.limit.min(MAX_PAGE) }
    }

    /// At how many rows a list looks for this page, one after the other until the page is full: it is mostly found among the nearest, and
    /// where one row of ten is wanted not much farther away.
    #[must_use]
    pub fn reaches(&self) -> [i64; 3] {
        let near = i64::try_from(self.rows()).unwrap_or(50).saturating_mul(2);
        [near, near.saturating_mul(10), MAX_REACH].map(|reach| reach.min(MAX_REACH))
    }

    /// Reads the cursor as what the list is sorted by.
    pub fn after<T: std::str::FromStr>(&self) -> Result<Option<T>> {
        let bad =
            || StoreError::Invalid("the page cursor is not one of ours: start from the first page".into());
        self.cursor.as_deref().map(|text| text.parse().map_err(|_| bad())).transpose()
    }
}

/// One part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// Where the next page starts; `None` at the end. A page may be short and still have a next one, because the
    /// number of rows looked at is bounded.
    pub next: Option<String>,
}

/// What a filter matches now: what is started or stopped later is no more than this, where the act is told `newest`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matching<T> {
    /// How many.
    pub count: u64,
    /// The newest of them; `None` when there is none.
    pub newest: Option<T>,
}

/// Which jobs.
#[derive(Debug, Clone, Default)]
pub struct JobFilter {
    /// Only this workload.
    pub workload: Option<WorkloadName>,
    /// Only this owner's.
    pub owner: Option<Owner>,
    /// Only in one of these shown states; in any when there is none.
    pub shown: Vec<Shown>,
    /// Only failed with this code; a public code finds its inner ones.
    pub code: Option<Code>,
    /// Only of this batch.
    pub batch: Option<BatchId>,
    /// Only those that are in no batch. What is left out costs nothing, however many members there are.
    pub single: bool,
    /// Only of the generation that this replay made.
    pub replay: Option<ReplayId>,
    /// Only those that depend on this target.
    pub target: Option<Target>,
    /// Only those that this worker holds now.
    pub worker: Option<WorkerId>,
    /// Only created at or after this.
    pub since: Option<Timestamp>,
    /// Only ended at or after this.
    pub ended_since: Option<Timestamp>,
    /// Only with this text in the label, or with this id. ASCII letters match in either case; nothing is a wild card.
    pub text: Option<String>,
    /// Only up to this job, in the order of ids: what is made from now on is not meant.
    pub upto: Option<JobId>,
    /// Only those that were handed in as [`NewJob::chore`](crate::NewJob::chore). The others cost nothing, however many there are.
    pub chore: bool,
}

impl JobFilter {
    /// In front of which job a list of these begins, walking from the newest to the oldest: where the page before ended, or right
    /// behind the newest that is meant.
    pub fn before(&self, page: &PageRequest) -> Result<Option<JobId>> {
        let (page, upto) = (page.after::<JobId>()?, self.upto.map(JobId::next));
        Ok([page, upto].into_iter().flatten().min())
    }

    /// The stored states that jobs in the shown states can have, each once; none when any will do.
    #[must_use]
    pub fn states(&self) -> Vec<State> {
        let mut states: Vec<State> = self.shown.iter().filter_map(|shown| shown.stored()).collect();
        states.sort_unstable();
        states.dedup();
        states
    }

    /// The job that the text is the id of, by its looks. Such a job is found wherever it is; names are looked for from the newest on.
    #[must_use]
    pub fn named(&self) -> Option<JobId> {
        let text = self.text.as_deref().filter(|text| matches!(text.len(), 32 | 36))?;
        text.parse().ok()
    }
}

/// A job as people look at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRow {
    /// Its id.
    pub id: JobId,
    /// Which kind.
    pub workload: WorkloadName,
    /// Whose.
    pub owner: Option<Owner>,
    /// What people call it.
    pub label: Option<String>,
    /// The stored state.
    pub state: State,
    /// What people see.
    pub shown: Shown,
    /// What it depends on.
    pub targets: TargetSet,
    /// 0 runs first.
    pub priority: u8,
    /// It must run alone.
    pub alone: bool,
    /// When it may run.
    pub due_at: Timestamp,
    /// The fence of its newest claim.
    pub token: LeaseToken,
    /// Who has it.
    pub leased_by: Option<WorkerId>,
    /// Until when.
    pub lease_expires_at: Option<Timestamp>,
    /// Charged executions in this generation.
    pub attempt: u32,
    /// Most charged executions.
    pub max_attempts: Option<u32>,
    /// Which generation.
    pub generation: u32,
    /// Crashes in this generation.
    pub crashes: u32,
    /// Releases given back in this generation.
    pub releases: u32,
    /// The batch it belongs to.
    pub batch: Option<BatchId>,
    /// The batch it waits for.
    pub awaits: Option<BatchId>,
    /// The replay that made this generation.
    pub replay: Option<ReplayId>,
    /// What ended it; only when failed.
    pub failure_code: Option<Code>,
    /// The sentence for people; only when failed.
    pub failure_message: Option<String>,
    /// How far its handler said it is.
    pub progress: Option<Progress>,
    /// Where its result is; only when complete. `Some("")` is a job that leaves none.
    pub result: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When this generation was enqueued.
    pub queued_at: Timestamp,
    /// When this generation first ran.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// When retention removed its artifacts.
    pub expired_at: Option<Timestamp>,
    /// When the row may be removed.
    pub purge_at: Option<Timestamp>,
}

/// The newest failure of a job's attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastFailure {
    /// What it was.
    pub code: Code,
    /// When that attempt ended.
    pub at: Timestamp,
}

/// One execution.
#[derive(Debug, Clone, PartialEq)]
pub struct AttemptRow {
    /// The job.
    pub job: JobId,
    /// The fence it ran under.
    pub token: LeaseToken,
    /// The charged count.
    pub number: u32,
    /// Which generation.
    pub generation: u32,
    /// Who ran it.
    pub worker: Option<WorkerId>,
    /// When it started.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Timestamp,
    /// How: `complete`, `failed`, `cancelled`, or a word of [`redrive_model::decide::Requeue`].
    pub outcome: String,
    /// What went wrong.
    pub code: Option<Code>,
    /// The line for operators.
    pub message: Option<String>,
    /// Small facts beside it, as JSON.
    pub context: Option<String>,
    /// What the target answered.
    pub target_status: Option<u16>,
    /// The rule that decided.
    pub rule: Option<Rule>,
    /// The policy's version.
    pub policy: Option<String>,
    /// What its worker said too late, after it had lost the lease.
    pub late: Option<String>,
}

/// A batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchRow {
    /// Its id.
    pub id: BatchId,
    /// Which kind of jobs.
    pub workload: WorkloadName,
    /// Whose.
    pub owner: Option<Owner>,
    /// What people call it.
    pub label: Option<String>,
    /// What whoever opened it keeps with it.
    pub about: Option<String>,
    /// Where it is.
    pub state: BatchState,
    /// No further members come.
    pub sealed: bool,
    /// Exact counts.
    pub counters: Counters,
    /// What completed members said that they made.
    pub bytes: u64,
    /// What a mix makes of it.
    pub end_rule: EndRule,
    /// The newest member that failed: code and sentence.
    pub last_failure: Option<(Code, String)>,
    /// When that was.
    pub last_failure_at: Option<Timestamp>,
    /// The newest dead letter of a member.
    pub dead_offset: Option<Offset>,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
}

/// Which batches.
#[derive(Debug, Clone)]
pub struct BatchFilter {
    /// Of this workload.
    pub workload: WorkloadName,
    /// Only this owner's.
    pub owner: Option<Owner>,
    /// Only those that have not ended.
    pub live: bool,
}

/// Where a list that is sorted by an instant and an id goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behind<T> {
    /// The instant of the last row.
    pub at: Timestamp,
    /// Which one it was.
    pub id: T,
}

impl<T: std::fmt::Display> std::fmt::Display for Behind<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}_{}", instant::to_millis(self.at), self.id)
    }
}

impl<T: std::str::FromStr> std::str::FromStr for Behind<T> {
    type Err = ();

    fn from_str(text: &str) -> std::result::Result<Self, ()> {
        let (at, id) = text.split_once('_').ok_or(())?;
        let at: i64 = at.parse().map_err(drop)?;
        Ok(Self { at: instant::from_millis(at), id: id.parse().map_err(drop)? })
    }
}

impl Page<BatchRow> {
    /// One part of a list of batches, where `more` says that the page is full.
    #[must_use]
    pub fn of_batches(rows: Vec<BatchRow>, more: bool) -> Self {
        let next = rows.last().filter(|_| more).map(|row| Behind { at: row.created_at, id: row.id });
        Self { next: next.map(|cursor| cursor.to_string()), rows }
    }
}

/// Members of a batch that are failed now, by what ended them and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BatchFailures {
    /// The minute in which they failed.
    pub minute: Timestamp,
    /// What ended them.
    pub code: Code,
    /// How many.
    pub jobs: u64,
}

/// Where a dead letter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeadState {
    /// Waits for somebody.
    Open,
    /// Its job got a new generation.
    Replayed,
    /// Somebody decided that it is not wanted.
    Discarded,
}

impl DeadState {
    /// The word in the table and in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Replayed => "replayed",
            Self::Discarded => "discarded",
        }
    }

    /// Reads the word back.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Open, Self::Replayed, Self::Discarded].into_iter().find(|state| state.as_str() == word)
    }
}

/// A job that policy gave up on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadRow {
    /// Its place among the dead letters.
    pub offset: Offset,
    /// The job.
    pub job: JobId,
    /// The generation that died.
    pub generation: u32,
    /// Which kind.
    pub workload: WorkloadName,
    /// Whose.
    pub owner: Option<Owner>,
    /// Why policy gave up.
    pub reason: DeadReason,
    /// What ended it.
    pub code: Code,
    /// The line for operators.
    pub message: String,
    /// Charged executions it had.
    pub attempts: u32,
    /// Its group.
    pub fingerprint: Fingerprint,
    /// Where it is.
    pub state: DeadState,
    /// When it died.
    pub at: Timestamp,
    /// When it was replayed or discarded.
    pub closed_at: Option<Timestamp>,
    /// The replay that took it.
    pub replay: Option<ReplayId>,
    /// The dead letter of the generation before.
    pub previous: Option<Offset>,
}

/// Which dead letters.
#[derive(Debug, Clone, Default)]
pub struct DeadFilter {
    /// Only with this code; a public code finds its inner ones.
    pub code: Option<Code>,
    /// Only this workload.
    pub workload: Option<WorkloadName>,
    /// Only this group.
    pub group: Option<Fingerprint>,
    /// Only this owner's.
    pub owner: Option<Owner>,
    /// Only those that died at or after this.
    pub since: Option<Timestamp>,
    /// Only those that died before this.
    pub until: Option<Timestamp>,
    /// Only jobs that depend on this target.
    pub target: Option<Target>,
    /// Only with this text in the message or in the job's label. ASCII letters match in either case; nothing is a wild
    /// card.
    pub text: Option<String>,
    /// Only of jobs that were created at or after this.
    pub created_since: Option<Timestamp>,
    /// Only of jobs with this text in the label, or with this id: as [`JobFilter::text`].
    pub label: Option<String>,
    /// Only in this state; open ones unless said.
    pub state: Option<DeadState>,
    /// Only up to this offset: what dies from now on is not meant.
    pub upto: Option<Offset>,
    /// In the order in which they died.
    pub oldest_first: bool,
}

/// What has to be looked at to count the dead letters that a filter means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeadSource {
    /// The groups alone: each keeps how many of its letters are open.
    Groups,
    /// The letters alone.
    Letters,
    /// Each letter with its job.
    Jobs,
}

impl DeadFilter {
    /// The least that has to be looked at. A single group is counted by its letters, so that what the group says can be compared with them.
    #[must_use]
    pub fn source(&self) -> DeadSource {
        let Self {
            code: _,
            workload: _,
            group,
            owner,
            since,
            until,
            target,
            text,
            created_since,
            label,
            state,
            upto,
            oldest_first: _,
        } = self;
        if owner.is_some() || target.is_some() || text.is_some() || created_since.is_some() || label.is_some()
        {
            return DeadSource::Jobs;
        }
        let open = matches!(state, None | Some(DeadState::Open));
        if open && group.is_none() && since.is_none() && until.is_none() && upto.is_none() {
            return DeadSource::Groups;
        }
        DeadSource::Letters
    }
}

/// The same fault in many jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupRow {
    /// Its name.
    pub fingerprint: Fingerprint,
    /// Which kind of jobs.
    pub workload: WorkloadName,
    /// What goes wrong.
    pub code: Code,
    /// What it is blamed on.
    pub target: Option<Target>,
    /// The newest message.
    pub message: String,
    /// The newest job.
    pub sample: JobId,
    /// Where people are with it.
    pub state: GroupState,
    /// When it was first seen.
    pub first_seen: Timestamp,
    /// When it was last seen.
    pub last_seen: Timestamp,
    /// Attempts that failed this way.
    pub failures: u64,
    /// Dead letters of it that are open.
    pub open: u64,
}

/// Which groups.
#[derive(Debug, Clone, Default)]
pub struct GroupFilter {
    /// Only in this state.
    pub state: Option<GroupState>,
    /// Only this workload.
    pub workload: Option<WorkloadName>,
    /// Only this one.
    pub fingerprint: Option<Fingerprint>,
    /// Only of this code; a public code finds its inner ones.
    pub code: Option<Code>,
}

/// How many dead letters wait with one code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadCount {
    /// Whose jobs.
    pub workload: WorkloadName,
    /// What ended them.
    pub code: Code,
    /// In so many groups.
    pub groups: u64,
    /// How many wait.
    pub open: u64,
}

/// How many jobs of a workload are in a stored state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateCount {
    /// The workload.
    pub workload: WorkloadName,
    /// The state.
    pub state: State,
    /// How many.
    pub jobs: u64,
}

/// How many jobs wait or run for a set of targets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneCount {
    /// The workload.
    pub workload: WorkloadName,
    /// The targets.
    pub targets: TargetSet,
    /// Jobs that are queued.
    pub queued: u64,
    /// Jobs that run.
    pub processing: u64,
}

/// Exact counts that cost the same at ten rows and at ten million.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts {
    /// By workload and stored state.
    pub states: Vec<StateCount>,
    /// By workload and targets, each once whatever the priorities, only where something waits or runs.
    pub lanes: Vec<LaneCount>,
}

impl Counts {
    /// Jobs in this state, over all workloads.
    #[must_use]
    pub fn total(&self, state: State) -> u64 {
        self.states.iter().filter(|c| c.state == state).map(|c| c.jobs).sum()
    }
}
