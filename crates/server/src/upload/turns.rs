//! One after the other, each owner for itself: what is counted and then added to must not be counted by two at once.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use redrive_model::Owner;
use tokio::sync::{Mutex, OwnedMutexGuard};

/// Two owners that share a turn only wait for each other; so there are a fixed number of them, however many owners there are.
const TURNS: usize = 256;

/// The turns of all owners.
#[derive(Debug)]
pub(crate) struct Turns {
    hasher: RandomState,
    turns: Vec<Arc<Mutex<()>>>,
}

/// A turn; dropping it lets the next one go on.
#[derive(Debug)]
pub(crate) struct Turn {
    _held: Option<OwnedMutexGuard<()>>,
}

impl Turns {
    pub(crate) fn new() -> Self {
        Self { hasher: RandomState::new(), turns: (0..TURNS).map(|_| Arc::default()).collect() }
    }

    /// Waits until nobody else has the turn of this owner.
    pub(crate) async fn wait(&self, owner: &Owner) -> Turn {
        let hash = self.hasher.hash_one(owner);
        let at = usize::try_from(hash % TURNS as u64).unwrap_or_default();
        match self.turns.get(at) {
            Some(turn) => Turn { _held: Some(Arc::clone(turn).lock_owned().await) },
            None => Turn { _held: None },
        }
    }
}
