//! Places at once, for uploads and for event streams: in all, of one session, and of one address.
//!
//! An address that a trusted proxy tells has no number of connections of its own; here it has one.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use redrive_model::Owner;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::Limits;

/// The places for one kind of thing.
#[derive(Debug)]
pub(crate) struct Slots {
    all: Arc<Semaphore>,
    sessions: Shares<Owner>,
    addresses: Shares<IpAddr>,
}

/// A place; dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Slot {
    _all: OwnedSemaphorePermit,
    _session: Share<Owner>,
    _address: Share<IpAddr>,
}

impl Slots {
    pub(crate) fn of_uploads(limits: &Limits) -> Self {
        Self::new(limits.uploads, limits.uploads_per_session, limits.uploads_per_address)
    }

    pub(crate) fn of_streams(limits: &Limits) -> Self {
        Self::new(limits.streams, limits.streams_per_session, limits.streams_per_address)
    }

    fn new(all: usize, session: usize, address: usize) -> Self {
        let all = Arc::new(Semaphore::new(all));
        Self { all, sessions: Shares::new(session), addresses: Shares::new(address) }
    }

    /// A place for this owner at this address, if there is one now.
    pub(crate) fn take(&self, owner: &Owner, address: IpAddr) -> Option<Slot> {
        let all = Arc::clone(&self.all).try_acquire_owned().ok()?;
        let session = self.sessions.take(owner)?;
        let address = self.addresses.take(&address)?;
        Some(Slot { _all: all, _session: session, _address: address })
    }
}

/// How many places each one has.
#[derive(Debug)]
struct Shares<K> {
    most: usize,
    taken: Arc<Mutex<HashMap<K, usize>>>,
}

/// One of them.
#[derive(Debug)]
struct Share<K: Hash + Eq> {
    of: K,
    taken: Arc<Mutex<HashMap<K, usize>>>,
}

impl<K: Hash + Eq + Clone> Shares<K> {
    fn new(most: usize) -> Self {
        Self { most, taken: Arc::default() }
    }

    fn take(&self, of: &K) -> Option<Share<K>> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.get(of).is_some_and(|own| *own >= self.most) {
            return None;
        }
        *taken.entry(of.clone()).or_default() += 1;
        Some(Share { of: of.clone(), taken: Arc::clone(&self.taken) })
    }
}

impl<K: Hash + Eq> Drop for Share<K> {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = taken.get_mut(&self.of) {
            *own -= 1;
            if *own == 0 {
                taken.remove(&self.of);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_limited_in_all_and_each_and_come_back() {
        let slots = Slots::new(4, 2, 3);
        let [ann, bob, eve] = ["ann", "bob", "eve"].map(|name| Owner::new(name).unwrap());
        let [here, there] = ["192.0.2.1", "192.0.2.2"].map(|text| text.parse::<IpAddr>().unwrap());
        let first = slots.take(&ann, here).unwrap();
        let second = slots.take(&ann, here).unwrap();
        assert!(slots.take(&ann, there).is_none(), "too many of one session");
        let third = slots.take(&bob, here).unwrap();
        assert!(slots.take(&eve, here).is_none(), "too many of one address");
        let fourth = slots.take(&bob, there).unwrap();
        assert!(slots.take(&eve, there).is_none(), "too many in all");
        drop(first);
        let fifth = slots.take(&ann, here).unwrap();
        drop((second, third, fourth, fifth));
        assert_eq!(slots.all.available_permits(), 4);
        assert!(slots.sessions.taken.lock().unwrap().is_empty(), "a refusal takes nothing");
        assert!(slots.addresses.taken.lock().unwrap().is_empty());
    }
}
