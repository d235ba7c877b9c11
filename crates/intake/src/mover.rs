//! Moves of documents: begun as rows, made on the shelf, ended as rows. Whoever finds an open one finishes it.
//!
//! No lock and no owner: every step can be repeated by anybody, because the shelf says what it found and the rows decide what counts.
//! The table of what may be found is in `docs/adr/0007-documents-and-moves.md`.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use redrive_blob::shelf::{Meta, Relocated, Shelf, beside};
use redrive_blob::{BlobError, Key};
use redrive_engine::model::LeaseToken;
use redrive_engine::store::StoreError;
use redrive_engine::store::intake::{Began, IntakeStore, MoveEnd, MoveRow, MoveState, NewMove};
use redrive_engine::{Code, Failure, JobId};
use tokio::sync::Notify;

/// So many names are tried before a folder is called full.
const NAMES: u32 = 1_000;

/// Moves documents of one shelf.
#[derive(Clone)]
pub struct Mover {
    /// Where they lie.
    pub shelf: Arc<dyn Shelf>,
    /// Where that is written down.
    pub store: Arc<dyn IntakeStore>,
    making: Arc<InHand>,
}

/// The moves that this process is making now. Two that made the same one at once could each write down another version of what they
/// left, on a store that tells versions by the time of their copy.
#[derive(Default)]
struct InHand {
    moves: Mutex<HashSet<i64>>,
    one_ended: Notify,
}

impl InHand {
    /// Nothing when somebody is making it.
    fn begin(self: &Arc<Self>, number: i64) -> Option<Making> {
        let new = self.moves.lock().unwrap_or_else(PoisonError::into_inner).insert(number);
        new.then(|| Making(Arc::clone(self), number))
    }

    /// As soon as nobody else is making it.
    async fn turn(self: &Arc<Self>, number: i64) -> Making {
        loop {
            let ended = self.one_ended.notified();
            if let Some(making) = self.begin(number) {
                return making;
            }
            ended.await;
        }
    }
}

/// A move that is being made, for as long as this lives.
struct Making(Arc<InHand>, i64);

impl Drop for Making {
    fn drop(&mut self) {
        self.0.moves.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.1);
        self.0.one_ended.notify_waiters();
    }
}

/// Where a document is to go.
#[derive(Debug, Clone)]
pub struct Goal<'a> {
    /// Which document.
    pub document: JobId,
    /// For which attempt.
    pub token: LeaseToken,
    /// The key that it is to have, or one with a number behind it.
    pub to: Key,
    /// Why, in one word.
    pub why: &'a str,
    /// What is said beside it.
    pub meta: Meta,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moved {
    /// It lies here now.
    To(Key),
    /// A newer attempt has it.
    Overruled,
    /// Nobody knows where it is: a person took it away.
    Gone,
}

/// Why a move could not be made. It stays open and is made later.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MoveError {
    /// The shelf failed.
    #[error("moving {from}: {error}")]
    Shelf {
        /// What was to be moved.
        from: String,
        /// Why it was not.
        #[source]
        error: BlobError,
    },
    /// The rows could not be written.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// Every name was taken.
    #[error("{0} and every name like it is taken")]
    Names(String),
}

impl MoveError {
    /// As the engine records it.
    #[must_use]
    pub fn failure(&self) -> Failure {
        match self {
            Self::Shelf { error, .. } => error.failure(),
            Self::Store(error) => Failure::new(error.code(), error),
            Self::Names(_) => Failure::new(Code::IoError, self),
        }
    }
}

impl Mover {
    /// Moves documents of this shelf. All movers of a process are clones of one.
    #[must_use]
    pub fn new(shelf: Arc<dyn Shelf>, store: Arc<dyn IntakeStore>) -> Self {
        Self { shelf, store, making: Arc::default() }
    }

    /// Brings a document to a place: finishes what is open, and then makes this move.
    pub async fn bring(&self, goal: Goal<'_>) -> Result<Moved, MoveError> {
        let meta = serde_json::to_string(&goal.meta).ok().filter(|_| !goal.meta.is_empty());
        loop {
            let began = self.store.begin_move(NewMove {
                document: goal.document,
                token: goal.token,
                to: goal.to.as_str().to_owned(),
                why: goal.why.to_owned(),
                meta: meta.clone(),
            });
            let (row, ours) = match began.await? {
                Began::There => return Ok(Moved::To(goal.to)),
                Began::Lost => return Ok(Moved::Overruled),
                Began::NotFound => return Ok(Moved::Gone),
                Began::Open(row) => (row, true),
                Began::Other(row) => (row, false),
            };
            match self.finish(row).await? {
                Some(Moved::Gone) => return Ok(Moved::Gone),
                Some(moved) if ours => return Ok(moved),
                // Another move was finished, or this one by somebody else: the rows say where it is.
                Some(_) | None => {}
            }
        }
    }

    /// Makes a move that was written down, and writes down that it was made. Nothing when somebody else was faster.
    pub async fn finish(&self, row: MoveRow) -> Result<Option<Moved>, MoveError> {
        let _making = self.making.turn(row.number).await;
        self.make(row).await
    }

    async fn make(&self, mut row: MoveRow) -> Result<Option<Moved>, MoveError> {
        let wanted = row.to.clone();
        let mut names = 1;
        loop {
            let (Ok(from), Ok(to)) = (Key::parse(&row.from), Key::parse(&row.to)) else {
                return self.end(&row, lost("its name is no key"), Moved::Gone).await;
            };
            let meta: Meta =
                row.meta.as_deref().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
            let moved = self.shelf.relocate(&from, &row.version, &to, &meta).await;
            let (end, moved) =
                match moved.map_err(|error| MoveError::Shelf { from: row.from.clone(), error })? {
                    Relocated::Done { version } => (MoveEnd::Done { version, note: None }, Moved::To(to)),
                    Relocated::Overtaken { version } => {
                        let note = Some("a newer upload has its old name".to_owned());
                        (MoveEnd::Done { version, note }, Moved::To(to))
                    }
                    Relocated::Missing => match self.found_elsewhere(&row, &to, &meta).await? {
                        Some(version) => {
                            let note = Some("it lay where an earlier move had it".to_owned());
                            (MoveEnd::Done { version, note }, Moved::To(to))
                        }
                        None => (lost("it is neither where it was nor where it was to go"), Moved::Gone),
                    },
                    Relocated::Changed { .. } => (lost("another file has its place"), Moved::Gone),
                    Relocated::Taken => {
                        names += 1;
                        let next = Key::parse(&wanted).and_then(|wanted| beside(&wanted, names));
                        let next = next.ok().filter(|_| names <= NAMES);
                        let next = next.ok_or_else(|| MoveError::Names(wanted.clone()))?;
                        match self.store.redirect_move(row.number, &row.to, next.as_str()).await? {
                            Some(redirected) => row = redirected,
                            None => return Ok(None),
                        }
                        continue;
                    }
                };
            return self.end(&row, end, moved).await;
        }
    }

    /// Somebody who was slow may have made a move that others had long ended, and then the rows name the wrong place. So before a
    /// document is called lost, the places of its earlier moves are looked at. Answers its version when one of them had it, and it is moved.
    async fn found_elsewhere(
        &self,
        row: &MoveRow,
        to: &Key,
        meta: &Meta,
    ) -> Result<Option<String>, MoveError> {
        let moves = self.store.moves_of(row.document).await?;
        // An end that somebody has written meanwhile stands.
        if moves.iter().any(|other| other.number == row.number && other.state != MoveState::Open) {
            return Ok(None);
        }
        let mut keys: Vec<&String> = moves.iter().flat_map(|one| [&one.from, &one.to]).collect();
        keys.sort_unstable();
        keys.dedup();
        for place in keys.into_iter().filter(|place| **place != row.from && **place != row.to) {
            let Ok(key) = Key::parse(place) else { continue };
            let others = self.store.documents_at(self.shelf.root(), vec![place.clone()]).await?;
            if others.into_iter().flatten().any(|other| other.id != row.document) {
                continue;
            }
            let moved = self.shelf.relocate(&key, &row.version, to, meta).await;
            let moved = moved.map_err(|error| MoveError::Shelf { from: place.clone(), error })?;
            if let Relocated::Done { version } = moved {
                return Ok(Some(version));
            }
        }
        Ok(None)
    }

    /// A move ends once; who comes second says nothing.
    async fn end(&self, row: &MoveRow, end: MoveEnd, moved: Moved) -> Result<Option<Moved>, MoveError> {
        Ok(self.store.end_move(row.number, end).await?.then_some(moved))
    }

    /// Finishes every move that is open. One that somebody in this process is making is waited for: whoever looks at the shelf next must
    /// find nothing there that the rows do not know. Answers how many were finished; one that fails is left for the next time.
    pub async fn reconcile(&self) -> Result<usize, MoveError> {
        let (mut after, mut finished) = (0, 0);
        loop {
            let open = self.store.open_moves(self.shelf.root(), after, 100).await?;
            let Some(last) = open.last() else { return Ok(finished) };
            after = last.number;
            for row in open {
                let number = row.number;
                let Some(_making) = self.making.begin(number) else {
                    drop(self.making.turn(number).await);
                    continue;
                };
                match self.make(row).await {
                    Ok(moved) => finished += usize::from(moved.is_some()),
                    Err(error) => tracing::warn!(event = "intake.move_left", number, "{error}"),
                }
            }
        }
    }
}

fn lost(note: &str) -> MoveEnd {
    MoveEnd::Lost { note: note.to_owned() }
}

impl std::fmt::Debug for Mover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mover").field("shelf", &self.shelf).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn one_move_is_made_by_one_at_a_time_and_others_do_not_wait_for_it() {
        let in_hand = Arc::new(InHand::default());
        let first = in_hand.begin(1).unwrap();
        assert!(in_hand.begin(1).is_none());
        assert!(in_hand.begin(2).is_some(), "another move is free");
        let waiting = tokio::spawn({
            let in_hand = Arc::clone(&in_hand);
            async move { in_hand.turn(1).await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(first);
        let second = tokio::time::timeout(Duration::from_secs(20), waiting).await.unwrap().unwrap();
        assert!(in_hand.begin(1).is_none(), "now the second has it");
        drop(second);
        assert!(in_hand.begin(1).is_some());
    }
}
