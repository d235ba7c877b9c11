//! Uploads at once: in all, and of one session.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use redrive_model::Owner;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::Limits;

/// The places for uploads.
#[derive(Debug)]
pub(crate) struct Slots {
    all: Arc<Semaphore>,
    each: usize,
    taken: Arc<Mutex<HashMap<Owner, usize>>>,
}

/// A place; dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Slot {
    _all: OwnedSemaphorePermit,
    owner: Owner,
    taken: Arc<Mutex<HashMap<Owner, usize>>>,
}

impl Slots {
    pub(crate) fn new(limits: &Limits) -> Self {
        let all = Arc::new(Semaphore::new(limits.uploads));
        Self { all, each: limits.uploads_per_session, taken: Arc::default() }
    }

    /// A place for this owner, if there is one now.
    pub(crate) fn take(&self, owner: &Owner) -> Option<Slot> {
        let all = Arc::clone(&self.all).try_acquire_owned().ok()?;
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let own = taken.entry(owner.clone()).or_default();
        if *own >= self.each {
            return None;
        }
        *own += 1;
        Some(Slot { _all: all, owner: owner.clone(), taken: Arc::clone(&self.taken) })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = taken.get_mut(&self.owner) {
            *own -= 1;
            if *own == 0 {
                taken.remove(&self.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_limited_in_all_and_each_and_come_back() {
        let slots = Slots::new(&Limits { uploads: 3, uploads_per_session: 2, ..Limits::default() });
        let [ann, bob] = ["ann", "bob"].map(|name| Owner::new(name).unwrap());
        let first = slots.take(&ann).unwrap();
        let _second = slots.take(&ann).unwrap();
        assert!(slots.take(&ann).is_none(), "too many of one");
        let _third = slots.take(&bob).unwrap();
        assert!(slots.take(&bob).is_none(), "too many in all");
        drop(first);
        assert!(slots.take(&ann).is_some());
        drop((_second, _third));
        assert!(slots.taken.lock().unwrap().is_empty());
    }
}
