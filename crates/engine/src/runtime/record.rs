//! Writing down how attempts ended, many at a time: while some are being committed, the next ones gather.

use std::sync::Arc;
use std::time::Duration;

use redrive_model::decide::DeadReason;
use redrive_model::fingerprint::Fingerprint;
use redrive_model::{Code, Failure, WorkloadName};
use redrive_store::{Finish, Finished, Step, Store, StoreError};
use tokio::sync::{Semaphore, mpsc, oneshot};

/// So many ends may wait before handlers have to.
const QUEUE: usize = 2_048;
/// At most so many in one call.
const TOGETHER: usize = 500;
/// Calls on their way at the same time.
const IN_FLIGHT: usize = 2;
/// Between two tries while the store is away.
const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

struct Entry {
    finish: Finish,
    workload: WorkloadName,
    reply: oneshot::Sender<Finished>,
}

/// Hands ends of attempts to the store.
#[derive(Clone)]
pub(crate) struct Recorder {
    sender: mpsc::Sender<Entry>,
}

impl Recorder {
    pub(crate) fn start(store: Arc<dyn Store>) -> Self {
        let (sender, receiver) = mpsc::channel(QUEUE);
        tokio::spawn(gather(store, receiver));
        Self { sender }
    }

    /// Records the end of an attempt. Tries until the store has answered; what comes too late is [`Finished::Lost`].
    pub(crate) async fn record(&self, finish: Finish, workload: WorkloadName) -> Finished {
        let (reply, answer) = oneshot::channel();
        if self.sender.send(Entry { finish, workload, reply }).await.is_err() {
            return Finished::Lost;
        }
        answer.await.unwrap_or(Finished::Lost)
    }
}

async fn gather(store: Arc<dyn Store>, mut receiver: mpsc::Receiver<Entry>) {
    let room = Arc::new(Semaphore::new(IN_FLIGHT));
    loop {
        // Wait for room first: whoever ends meanwhile joins.
        let Ok(permit) = room.clone().acquire_owned().await else { return };
        let mut entries = Vec::new();
        if receiver.recv_many(&mut entries, TOGETHER).await == 0 {
            return;
        }
        let store = store.clone();
        tokio::spawn(async move {
            write(&*store, entries).await;
            drop(permit);
        });
    }
}

async fn write(store: &dyn Store, entries: Vec<Entry>) {
    let finishes: Vec<Finish> = entries.iter().map(|entry| entry.finish.clone()).collect();
    match persist(store, &finishes).await {
        Ok(answers) => {
            for (entry, answer) in entries.into_iter().zip(answers) {
                let _ = entry.reply.send(answer);
            }
        }
        // One of them cannot be written: each on its own, so that it takes nobody with it.
        Err(error) => {
            let several = entries.len() > 1;
            for entry in entries {
                let alone = if several {
                    persist(store, std::slice::from_ref(&entry.finish)).await
                } else {
                    Err(StoreError::Internal(error.to_string()))
                };
                let answer = match alone {
                    Ok(answers) => answers.first().copied().unwrap_or(Finished::Lost),
                    Err(error) => give_up(store, &entry, &error).await,
                };
                let _ = entry.reply.send(answer);
            }
        }
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
async fn give_up(store: &dyn Store, entry: &Entry, error: &StoreError) -> Finished {
    let job = entry.finish.lease.job;
    tracing::error!(event = "record.refused", %job, workload = %entry.workload, "{error}");
    let failure = Failure::new(Code::Unknown, format_args!("its end could not be recorded: {error}"))
        .with("meant", entry.finish.step.outcome());
    let mut finish = entry.finish.clone();
    finish.report.fingerprint = Some(Fingerprint::new(failure.code, &entry.workload, None, &failure.message));
    finish.report.failure = Some(failure);
    finish.step = Step::Fail { reason: DeadReason::NonRetryable, keep: None };
    finish.state = None;
    match persist(store, &[finish]).await {
        Ok(answers) => answers.first().copied().unwrap_or(Finished::Lost),
        Err(error) => {
            tracing::error!(event = "record.lost", %job, "{error}: its lease will run out");
            Finished::Lost
        }
    }
}
