//! What is done after a run has failed, whoever saw it fail: a reader of the engine's events.
//!
//! The PDF goes back to `queue/`, or to `failed/` when policy gave up; `temp/` is removed, a failure record is written, and one line is
//! logged. A crash, a timeout, a cancellation are cleaned up like any other failure, once each, in the order in which they
//! happened. PDFs are never deleted.

mod record;

use redrive_blob::shelf::Meta;
use redrive_engine::model::LeaseToken;
use redrive_engine::store::intake::{DocumentChange, DocumentRow, FailureRecord, Stage};
use redrive_engine::store::{AttemptRow, Event, EventKind, StoreError};
use redrive_engine::{Code, Context, Engine, Enqueue, Failure, Input, JobId, Projector};

use crate::analysis::Analyse;
use crate::input::Document;
use crate::layout::{Place, stem};
use crate::mover::{Goal, MoveError, Moved, Mover};
use record::{Action, failure_id, log};

/// The metadata that says how often a document has failed.
pub const RETRY_COUNT: &str = "retry-count";
/// The metadata that says that it was too often.
pub const EXCEEDED: &str = "max-retries-exceeded";

/// How an attempt ended whose job waits for a batch of its own: a word of [`Requeue`](redrive_engine::model::decide::Requeue).
const WAITS: &str = "awaits_batch";

/// The reader that cleans up.
#[derive(Clone)]
pub struct Cleaner {
    engine: Engine,
    mover: Mover,
}

/// How a run ended, as far as the folders are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// It is tried again, and that counts.
    Again,
    /// It is tried again, and nobody is to blame: a worker stopped, a target was asked whether it is back.
    Returned,
    /// Policy gave up.
    GivenUp,
    /// A person stopped it.
    Stopped,
}

impl Ended {
    /// What an event means here; nothing for one that moves no file.
    const fn of(kind: EventKind) -> Option<Self> {
        match kind {
            EventKind::Retry | EventKind::Reclaimed => Some(Self::Again),
            EventKind::Released | EventKind::Snoozed => Some(Self::Returned),
            EventKind::Failed => Some(Self::GivenUp),
            EventKind::Cancelled => Some(Self::Stopped),
            EventKind::Queued
            | EventKind::Processing
            | EventKind::Complete
            | EventKind::Expired
            | EventKind::BatchEnded
            | EventKind::Published => None,
        }
    }

    /// How many retries there were or are: raised when the document is tried again, and left as it is when it is not, so that it is never
    /// more than the most there may be.
    fn retries(self, attempt: u32, before: u32) -> u32 {
        match self {
            Self::Again => attempt,
            Self::GivenUp => attempt.saturating_sub(1),
            Self::Returned | Self::Stopped => before.min(attempt),
        }
    }

    const fn is_final(self) -> bool {
        matches!(self, Self::GivenUp | Self::Stopped)
    }
}

impl Cleaner {
    /// Cleans up on this shelf.
    #[must_use]
    pub fn new(engine: Engine, mover: Mover) -> Self {
        Self { engine, mover }
    }

    async fn clean(&self, event: &Event, job: JobId, ended: Ended) -> Result<(), Failure> {
        let Some(document) = self.mover.store.document(job).await.map_err(lost)? else { return Ok(()) };
        if document.root != self.mover.shelf.root() {
            return Ok(());
        }
        let attempts = self.engine.store().attempts(job).await.map_err(lost)?;
        let attempt = attempts.iter().rev().find(|row| {
            row.generation == event.generation && (event.attempt == 0 || row.number == event.attempt)
        });
        // A run that waits for a batch of its own goes on from where it is.
        if event.kind == EventKind::Snoozed && attempt.is_none_or(|row| row.outcome == WAITS) {
            return Ok(());
        }
        let token = attempt.map_or(document.run, |row| row.token);
        let why = Why::of(event, attempt, ended);
        let placed = match document.stage {
            // The next run was faster than we are.
            Stage::Done => Placed::Overruled,
            Stage::Waiting | Stage::Processing | Stage::Failed | Stage::Gone => {
                self.put(&document, token, ended, &why, event.attempt).await?
            }
        };
        self.note(event, &document, token, ended, &why, &placed).await?;
        // What a newer run makes there is not ours to clear.
        if placed != Placed::Overruled
            && let Ok(temp) = Place::Temp.of(stem(&document.path))
        {
            // What stays is cleared after the next run.
            if let Err(error) = self.mover.shelf.clear(&temp).await {
                tracing::warn!(event = "intake.temp_left", job_id = %job, "{error}");
            }
        }
        Ok(())
    }

    /// Moves the PDF to where its job is. What could not be moved now stays written down, and is moved with the next look.
    async fn put(
        &self,
        document: &DocumentRow,
        token: LeaseToken,
        ended: Ended,
        why: &Why,
        attempt: u32,
    ) -> Result<Placed, Failure> {
        if why.is_lost() || document.stage == Stage::Gone {
            return Ok(Placed::Gone);
        }
        let (place, word) = match ended {
            Ended::Again | Ended::Returned => (Place::Queue, "retry"),
            Ended::GivenUp => (Place::Failed, "failed"),
            Ended::Stopped => (Place::Failed, "cancelled"),
        };
        let Ok(to) = place.of(&document.path) else { return Ok(Placed::Left) };
        let mut meta = Meta::new();
        if ended != Ended::Returned {
            meta.insert(RETRY_COUNT.to_owned(), ended.retries(attempt, document.retries).to_string());
        }
        if ended == Ended::GivenUp {
            meta.insert(EXCEEDED.to_owned(), "true".to_owned());
        }
        match self.mover.bring(Goal { document: document.id, token, to, why: word, meta }).await {
            Ok(Moved::To(key)) => Ok(Placed::At(key.as_str().to_owned())),
            Ok(Moved::Overruled) => Ok(Placed::Overruled),
            Ok(Moved::Gone) => Ok(Placed::Gone),
            // Nothing is written down yet: the event comes again.
            Err(MoveError::Store(error)) => Err(lost(error)),
            Err(error @ (MoveError::Shelf { .. } | MoveError::Names(_))) => {
                tracing::warn!(event = "intake.move_left", job_id = %document.id, "{error}");
                Ok(Placed::Left)
            }
        }
    }

    /// Writes down what happened: the document's row, the failure record, the line of the log.
    async fn note(
        &self,
        event: &Event,
        document: &DocumentRow,
        token: LeaseToken,
        ended: Ended,
        why: &Why,
        placed: &Placed,
    ) -> Result<(), Failure> {
        if ended == Ended::Returned {
            if *placed != Placed::Overruled {
                let change = DocumentChange::stage(Stage::Waiting);
                self.mover.store.change_document(document.id, token, change).await.map_err(lost)?;
            }
            return Ok(());
        }
        let stage = match placed {
            Placed::Gone => Stage::Gone,
            Placed::At(_) | Placed::Left | Placed::Overruled if ended.is_final() => Stage::Failed,
            Placed::At(_) | Placed::Left | Placed::Overruled => Stage::Waiting,
        };
        let exceeded = ended == Ended::GivenUp && !why.is_lost();
        let retries = ended.retries(event.attempt, document.retries);
        let change = DocumentChange {
            stage: Some(stage),
            retries: Some(retries),
            exceeded: Some(exceeded),
            failure: Some((why.code, why.message.clone())),
            ..DocumentChange::default()
        };
        // A newer attempt that has it says itself where it is.
        self.mover.store.change_document(document.id, token, change).await.map_err(lost)?;
        let at = |wanted: bool| match placed {
            Placed::At(key) if wanted => Some(key.clone()),
            Placed::At(_) | Placed::Left | Placed::Overruled | Placed::Gone => None,
        };
        let record = FailureRecord {
            failure_id: failure_id(event),
            document: document.id,
            timestamp: event.at,
            owner: document.owner.clone(),
            pdf_key: pdf_key(document),
            queue_key: at(!ended.is_final()),
            failed_key: at(ended.is_final()),
            retry_count: retries,
            max_retries_exceeded: exceeded,
            code: why.code,
            failure_reason: why.message.clone(),
            notified: false,
        };
        let action = match placed {
            Placed::At(_) if ended.is_final() => Action::MovedToFailed,
            Placed::At(_) => Action::MovedToQueue,
            Placed::Left | Placed::Overruled | Placed::Gone => Action::LeftInPlace,
        };
        if self.mover.store.note_failure(record.clone()).await.map_err(lost)? {
            log(action, &record);
        }
        if ended == Ended::GivenUp {
            let (path, generation) = (document.path.clone(), event.generation);
            let analyse = Analyse { document: document.id, generation, path };
            let how = Enqueue::default().id(analyse.id(event.at));
            self.engine
                .enqueue_with(&analyse, how)
                .await
                .map_err(|error| Failure::new(error.code(), error))?;
        }
        Ok(())
    }
}

/// Where a PDF is after it was to be moved.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Placed {
    /// Here.
    At(String),
    /// Still where it was; it is moved later.
    Left,
    /// Where a newer attempt wants it.
    Overruled,
    /// Nobody knows.
    Gone,
}

/// Why a run ended.
#[derive(Debug)]
struct Why {
    code: Code,
    message: String,
}

impl Why {
    fn of(event: &Event, attempt: Option<&AttemptRow>, ended: Ended) -> Self {
        let code = match ended {
            Ended::Stopped => Code::Cancelled,
            Ended::Again | Ended::Returned | Ended::GivenUp => {
                event.code.or_else(|| attempt?.code).unwrap_or(Code::SystemWorkerLost)
            }
        };
        let said = attempt.and_then(|row| row.message.clone()).filter(|_| ended != Ended::Stopped);
        let message = said.unwrap_or_else(|| code.entry().what_happened.to_owned());
        Self { code, message }
    }

    /// Whether there is nothing to move.
    const fn is_lost(&self) -> bool {
        matches!(self.code, Code::SourceMissing | Code::SourceChanged)
    }
}

impl Projector for Cleaner {
    async fn on_event(&self, _: &Context, event: &Event) -> Result<(), Failure> {
        let ours = event.workload.as_ref().is_some_and(|name| name.as_str() == Document::WORKLOAD);
        match (event.job, Ended::of(event.kind)) {
            (Some(job), Some(ended)) if ours => self.clean(event, job, ended).await,
            (Some(_) | None, Some(_) | None) => Ok(()),
        }
    }
}

/// Where the run had it.
fn pdf_key(document: &DocumentRow) -> String {
    let usual = || Place::Pdf.of(&document.path).map(|key| key.as_str().to_owned()).unwrap_or_default();
    if document.place.starts_with("pdf/") { document.place.clone() } else { usual() }
}

fn lost(error: StoreError) -> Failure {
    Failure::new(error.code(), error)
}
