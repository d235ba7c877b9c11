//! Group commit for single enqueues: while one group is being committed, the next one gathers.

use std::collections::HashSet;
use std::sync::Arc;

use redrive_store::{Enqueued, NewJob, Result, StoreError};
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::enqueue;
use crate::error::{rewriting, store_error, unsent};
use crate::hot::Use;
use crate::store::Inner;

/// So many calls may wait before callers have to.
const QUEUE: usize = 4_096;
/// At most so many jobs in one group.
const GROUP: usize = 500;
/// Groups on their way at the same time.
const IN_FLIGHT: usize = 2;

type Waiting = (Vec<NewJob>, oneshot::Sender<Result<Vec<Enqueued>>>);

/// Gathers plain enqueues of many callers into few statements.
#[derive(Debug)]
pub(crate) struct Grouping {
    sender: mpsc::Sender<Waiting>,
}

impl Grouping {
    pub(crate) fn start(inner: Arc<Inner>) -> Self {
        let (sender, receiver) = mpsc::channel(QUEUE);
        tokio::spawn(gather(inner, receiver));
        Self { sender }
    }

    /// Adds these jobs to the next group and answers after its commit.
    pub(crate) async fn enqueue(&self, jobs: Vec<NewJob>) -> Result<Vec<Enqueued>> {
        let closed = || StoreError::Unavailable { reason: "the store is closed".into() };
        let (reply, answer) = oneshot::channel();
        self.sender.send((jobs, reply)).await.map_err(|_| closed())?;
        // It may have been on its way.
        answer.await.map_err(|_| StoreError::Unknown { reason: "the store was closed meanwhile".into() })?
    }
}

async fn gather(inner: Arc<Inner>, mut receiver: mpsc::Receiver<Waiting>) {
    let room = Arc::new(Semaphore::new(IN_FLIGHT));
    loop {
        // Wait for room first: whoever comes meanwhile joins the group.
        let Ok(permit) = room.clone().acquire_owned().await else { return };
        let Some(first) = receiver.recv().await else { return };
        let mut jobs = first.0.len();
        let mut group = vec![first];
        while jobs < GROUP
            && let Ok(next) = receiver.try_recv()
        {
            jobs += next.0.len();
            group.push(next);
        }
        let inner = inner.clone();
        tokio::spawn(async move {
            commit(&inner, group).await;
            drop(permit);
        });
    }
}

async fn commit(inner: &Inner, group: Vec<Waiting>) {
    let (calls, replies): (Vec<Vec<NewJob>>, Vec<_>) = group.into_iter().unzip();
    let sizes: Vec<usize> = calls.iter().map(Vec::len).collect();
    let jobs: Vec<NewJob> = calls.into_iter().flatten().collect();
    match plain(inner, &jobs).await {
        Ok(mut answers) => {
            for (size, reply) in sizes.into_iter().zip(replies) {
                let rest = answers.split_off(size.min(answers.len()));
                let _ = reply.send(Ok(std::mem::replace(&mut answers, rest)));
            }
        }
        Err(error) if replies.len() > 1 => {
            // One of them is at fault, or the database is: each gets an answer of its own. What was unknown of all of them stays so
            // where that one says nothing better.
            let unheard = matches!(error, StoreError::Unknown { .. });
            let mut jobs = jobs;
            for (size, reply) in sizes.into_iter().zip(replies) {
                let rest = jobs.split_off(size.min(jobs.len()));
                let own = std::mem::replace(&mut jobs, rest);
                let answer = plain(inner, &own).await.map_err(|error| match error {
                    StoreError::Unavailable { reason } if unheard => StoreError::Unknown { reason },
                    error => error,
                });
                let _ = reply.send(answer);
            }
        }
        Err(error) => {
            if let Some(reply) = replies.into_iter().next() {
                let _ = reply.send(Err(error));
            }
        }
    }
}

/// One statement for jobs that need nothing else.
pub(crate) async fn plain(inner: &Inner, jobs: &[NewJob]) -> Result<Vec<Enqueued>> {
    let refs: Vec<&NewJob> = jobs.iter().collect();
    let mut made: HashSet<_> = rewriting!(async {
        let lanes = enqueue::lanes(inner, jobs).await.map_err(unsent)?;
        let mut lent = inner.hot.take(Use::Write).await?;
        let made = match enqueue::insert_new(lent.conn(), inner, &refs, &lanes).await {
            Ok(true) => Ok(refs.iter().map(|job| job.id).collect()),
            Ok(false) => enqueue::insert(lent.conn(), inner, &refs, &lanes).await.map(|(made, _)| made),
            Err(error) => Err(error),
        };
        inner.lanes.hear(lent.settle(made))
    })?;
    inner.wake.hint();
    let answer = |job: &NewJob| {
        if made.remove(&job.id) { Enqueued::Created(job.id) } else { Enqueued::Existing(job.id) }
    };
    Ok(jobs.iter().map(answer).collect())
}

/// Maps what a transaction can fail with.
pub(crate) fn fault(fault: enqueue::Fault) -> StoreError {
    match fault {
        enqueue::Fault::Db(error) => store_error(error),
        enqueue::Fault::Store(error) => error,
    }
}
