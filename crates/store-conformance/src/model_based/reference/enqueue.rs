//! Handing work in (decisions 8 and 9, faults 4.10).

use redrive_model::decide::Spent;
use redrive_model::{Code, LeaseToken, State, Timestamp, instant};
use redrive_store::{Enqueue, EnqueueReply, Enqueued, EventKind, NewJob, When, validate};

use super::super::call::Refusal;
use super::batch::Batch;
use super::{Job, Reference};

/// What an idempotency key was used for.
#[derive(Debug, Clone)]
pub(crate) struct Remembered {
    pub(crate) request_hash: [u8; 32],
    pub(crate) jobs: Vec<Enqueued>,
    pub(crate) at: Timestamp,
}

impl Reference {
    pub(super) fn enqueue(&mut self, call: &Enqueue) -> Result<EnqueueReply, Refusal> {
        validate(call)?;
        let key = call.idempotency.as_ref().map(|i| (i.owner.clone(), i.key.clone()));
        let hash = call.idempotency.as_ref().map(|i| i.request_hash);
        if let Some(before) = key.as_ref().and_then(|key| self.keys.get(key)) {
            if Some(before.request_hash) != hash {
                return Err(Refusal::IdempotencyMismatch);
            }
            return Ok(EnqueueReply { jobs: before.jobs.clone(), replayed: true });
        }
        for new in &call.open {
            self.batches.entry(new.id).or_insert_with(|| Batch::new(new, self.now));
        }
        let jobs = call.jobs.iter().map(|job| self.hand_in(job)).collect::<Result<Vec<_>, _>>()?;
        for id in &call.seal {
            self.batches.get_mut(id).ok_or(Refusal::NotFound)?.sealed = true;
        }
        self.settle();
        if let (Some(key), Some(request_hash)) = (key, hash) {
            self.keys.insert(key, Remembered { request_hash, jobs: jobs.clone(), at: self.now });
        }
        Ok(EnqueueReply { jobs, replayed: false })
    }

    fn hand_in(&mut self, new: &NewJob) -> Result<Enqueued, Refusal> {
        if self.jobs.contains_key(&new.id) {
            return Ok(Enqueued::Existing(new.id));
        }
        // What is refused at the door never runs, so it keeps nobody out and has no twin.
        let dedupe = new.dedupe.filter(|_| new.rejected.is_none());
        if let Some(twin) = dedupe.and_then(|key| self.twin(key)) {
            return Ok(Enqueued::Duplicate(twin));
        }
        if let Some(id) = new.batch {
            let batch = self.batches.get(&id).ok_or(Refusal::NotFound)?;
            if batch.sealed {
                return Err(Refusal::Invalid);
            }
        }
        let job = self.new_job(new);
        let (kind, code) = match &job.failure {
            None => (EventKind::Queued, None),
            Some((code, _)) => (EventKind::Failed, Some(*code)),
        };
        self.note_rejection(new);
        self.jobs.insert(new.id, job);
        self.event(new.id, kind, code);
        Ok(Enqueued::Created(new.id))
    }

    fn new_job(&self, new: &NewJob) -> Job {
        let due_at = match new.when {
            When::In(wait) => instant::after(self.now, wait),
            When::At(at) => at.max(self.now),
        };
        let rejected = new.rejected.as_ref();
        Job {
            id: new.id,
            workload: new.workload.clone(),
            owner: new.owner.clone(),
            label: new.clean_label(),
            input: new.input.clone(),
            saved: None,
            targets: new.targets.clone(),
            priority: new.priority,
            alone: false,
            state: if rejected.is_some() { State::Failed } else { State::Queued },
            rejected: rejected.is_some(),
            due_at,
            token: LeaseToken(0),
            lease: None,
            attempt: 0,
            max_attempts: new.max_attempts,
            generation: 1,
            crashes: 0,
            releases: 0,
            spent: Spent::default(),
            batch: new.batch,
            awaits: None,
            replay: None,
            dedupe: new.dedupe.filter(|_| rejected.is_none()),
            failure: rejected.map(|f| (f.code, f.public_message().to_owned())),
            result: None,
            created_at: self.now,
            queued_at: self.now,
            started_at: None,
            finished_at: rejected.map(|_| self.now),
            expired_at: None,
            purge_at: rejected.and(new.keep).map(|keep| instant::after(self.now, keep)),
        }
    }

    fn note_rejection(&mut self, new: &NewJob) {
        let failure: Option<(Code, String)> =
            new.rejected.as_ref().map(|f| (f.code, f.public_message().to_owned()));
        if let (Some(id), Some(failure)) = (new.batch, failure) {
            self.note_failure(id, failure, None);
        }
    }
}
