//! Writing down how attempts ended, many at a time: while some are being committed, the next ones gather.

use std::sync::Arc;
use std::time::Duration;

use redrive_model::decide::DeadReason;
use redrive_model::fingerprint::Fingerprint;
use redrive_model::{Code, Failure, WorkloadName};
use redrive_store::{Finish, Finished, Lease, Step, Store, StoreError};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;

use super::slots::Slots;

/// A permanent job keeps so many attempts.
pub(crate) const KEEP_ATTEMPTS: usize = 100;
/// So many ends may wait before handlers have to.
const QUEUE: usize = 2_048;
/// At most so many in one call.
const TOGETHER: usize = 1_000;
/// Calls on their way at the same time.
const IN_FLIGHT: usize = 2;
/// So many together are a stream.
const BUSY: usize = 8;
/// Ends that come in a stream are gathered for so long, or until there are enough.
const LINGER: Duration = Duration::from_millis(10);
const ENOUGH: usize = 256;
/// Between two tries while the store is away.
const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// The end of an attempt, and what is to be known about it when it is written.
pub(crate) struct Entry {
    pub(crate) finish: Finish,
    pub(crate) workload: WorkloadName,
    pub(crate) attempt: u32,
    /// What never ends would gather attempts without end: the older ones go.
    pub(crate) prune: bool,
}

/// Hands ends of attempts to the store.
#[derive(Clone)]
pub(crate) struct Recorder {
    sender: mpsc::Sender<Entry>,
}

impl Recorder {
    pub(crate) fn start(store: Arc<dyn Store>, slots: Arc<Slots>) -> Self {
        let (sender, receiver) = mpsc::channel(QUEUE);
        tokio::spawn(gather(store, slots, receiver));
        Self { sender }
    }

    /// Takes the end of an attempt. It is tried until the store has answered; its lease is kept until then.
    pub(crate) async fn record(&self, entry: Entry) {
        // Nobody listens only when the runtime goes down: then the lease runs out.
        let _ = self.sender.send(entry).await;
    }
}

async fn gather(store: Arc<dyn Store>, slots: Arc<Slots>, mut receiver: mpsc::Receiver<Entry>) {
    let room = Arc::new(Semaphore::new(IN_FLIGHT));
    let mut busy = false;
    loop {
        // Wait for room first: whoever ends meanwhile joins.
        let Ok(permit) = room.clone().acquire_owned().await else { return };
        let mut entries = Vec::new();
        if receiver.recv_many(&mut entries, TOGETHER).await == 0 {
            return;
        }
        // One that comes alone is written at once. When many come, a commit costs more than the moment in which more do.
        if busy {
            let until = Instant::now() + LINGER;
            while entries.len() < ENOUGH {
                let left = TOGETHER - entries.len();
                match tokio::time::timeout_at(until, receiver.recv_many(&mut entries, left)).await {
                    Ok(0) | Err(_) => break,
                    Ok(_) => {}
                }
            }
        }
        busy = entries.len() >= BUSY;
        let (store, slots) = (store.clone(), slots.clone());
        tokio::spawn(async move {
            write(&*store, &slots, entries).await;
            drop(permit);
        });
    }
}

async fn write(store: &dyn Store, slots: &Slots, entries: Vec<Entry>) {
    let (finishes, notes): (Vec<Finish>, Vec<Note>) = entries.into_iter().map(Note::split).unzip();
    let answers = match persist(store, &finishes).await {
        Ok(answers) => answers,
        // One of them cannot be written: each on its own, so that it takes nobody with it.
        Err(error) => {
            let mut answers = Vec::with_capacity(finishes.len());
            for (finish, note) in finishes.iter().zip(&notes) {
                let alone = match finishes.len() {
                    1 => Err(StoreError::Internal(error.to_string())),
                    _ => persist(store, std::slice::from_ref(finish)).await,
                };
                answers.push(match alone {
                    Ok(answers) => answers.first().copied().unwrap_or(Finished::Lost),
                    Err(error) => give_up(store, finish, &note.workload, &error).await,
                });
            }
            answers
        }
    };
    for (note, answer) in notes.iter().zip(&answers) {
        match answer {
            Finished::Lost => super::lost(note.lease, &note.workload, note.attempt),
            Finished::Recorded(_) if note.prune => {
                let _ = store.prune_attempts(note.lease.job, KEEP_ATTEMPTS).await;
            }
            Finished::Recorded(_) => {}
        }
    }
    slots.forget(notes.into_iter().map(|note| note.lease));
}

/// What is left of an entry when its finish is on its way.
struct Note {
    lease: Lease,
    workload: WorkloadName,
    attempt: u32,
    prune: bool,
}

impl Note {
    fn split(entry: Entry) -> (Finish, Self) {
        let Entry { finish, workload, attempt, prune } = entry;
        let lease = finish.lease;
        (finish, Self { lease, workload, attempt, prune })
    }
}

/// Makes the call until the store is there. A finish may be made twice: the second is answered as the first was.
async fn persist(store: &dyn Store, finishes: &[Finish]) -> redrive_store::Result<Vec<Finished>> {
    let mut wait = FIRST_WAIT;
    loop {
        match store.finish(finishes.to_vec()).await {
            Err(error) if error.is_temporary() || matches!(error, StoreError::Unknown { .. }) => {
                tracing::warn!(event = "record.retry", count = finishes.len(), "{error}");
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(LONGEST_WAIT);
            }
            answer => return answer,
        }
    }
}

/// The store refuses this end, whoever asks: a bug of ours. The job is not lost; people get it, with the reason.
async fn give_up(
    store: &dyn Store,
    finish: &Finish,
    workload: &WorkloadName,
    error: &StoreError,
) -> Finished {
    let job = finish.lease.job;
    tracing::error!(event = "record.refused", job_id = %job, %workload, "{error}");
    let failure = Failure::new(Code::Unknown, format_args!("its end could not be recorded: {error}"))
        .with("meant", finish.step.outcome());
    let mut finish = finish.clone();
    finish.report.fingerprint = Some(Fingerprint::new(failure.code, workload, None, &failure.message));
    finish.report.failure = Some(failure);
    finish.step = Step::Fail { reason: DeadReason::NonRetryable, keep: None };
    finish.state = None;
    match persist(store, &[finish]).await {
        Ok(answers) => answers.first().copied().unwrap_or(Finished::Lost),
        Err(error) => {
            tracing::error!(event = "record.lost", job_id = %job, "{error}: its lease will run out");
            Finished::Lost
        }
    }
}
