//! Syncs of one folder that are wanted at the same time are made once.
//!
//! Whoever put a name into a folder needs a sync that begins after that; who makes it does not matter. A sync that fails is a failure
//! of everybody who had a folder open at the time: the system tells it only to handles that were open then, and a handle opened
//! later would hear that all is well about names that are lost.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rustix::io::{Errno, Result};

use super::lasting::Identity;

/// The syncs of one root.
#[derive(Debug, Default)]
pub(super) struct Together {
    syncs: Mutex<Syncs>,
    one_ended: Condvar,
}

#[derive(Debug, Default)]
struct Syncs {
    folders: HashMap<Identity, Turns>,
    failed: Failed,
}

/// How many syncs failed so far, and how the last one did. Taken before a folder is opened, compared after its sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Failed(u64, Option<Errno>);

/// The syncs of one folder, by number. One runs at a time.
#[derive(Debug, Default)]
struct Turns {
    begun: u64,
    ended: u64,
    wanted_by: usize,
}

impl Turns {
    const fn runs(&self) -> bool {
        self.begun > self.ended
    }
}

impl Together {
    /// What has failed so far.
    pub(super) fn failed(&self) -> Failed {
        self.lock().failed
    }

    /// Returns when a sync of this folder has begun after this call and ended well, and none has failed since `before`. It may block.
    pub(super) fn sync(
        &self,
        folder: Identity,
        before: Failed,
        sync: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let mut syncs = self.lock();
        let turns = syncs.folders.entry(folder).or_default();
        turns.wanted_by += 1;
        let mine = turns.begun + 1;
        let mut sync = Some(sync);
        while let Some(turns) = syncs.folders.get_mut(&folder).filter(|turns| turns.ended < mine) {
            let Some(sync) = (if turns.runs() { None } else { sync.take() }) else {
                syncs = self.one_ended.wait(syncs).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            turns.begun += 1;
            drop(syncs);
            let synced = sync();
            syncs = self.lock();
            if let Err(e) = synced {
                syncs.failed = Failed(syncs.failed.0 + 1, Some(e));
            }
            if let Some(turns) = syncs.folders.get_mut(&folder) {
                turns.ended = turns.begun;
                // To wake somebody is a call of the system, also when nobody sleeps.
                if turns.wanted_by > 1 {
                    self.one_ended.notify_all();
                }
            }
        }
        syncs.leave(folder);
        match syncs.failed {
            failed if failed == before => Ok(()),
            Failed(_, how) => Err(how.unwrap_or(Errno::IO)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Syncs> {
        self.syncs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Syncs {
    /// A folder that nobody wants synced is forgotten.
    fn leave(&mut self, folder: Identity) {
        if let Some(turns) = self.folders.get_mut(&folder) {
            turns.wanted_by -= 1;
            if turns.wanted_by == 0 {
                self.folders.remove(&folder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    const MANY: usize = 16;

    fn folder() -> Option<Identity> {
        Identity::of(File::open(tempfile::tempdir().unwrap().path()).unwrap())
    }

    /// One sync runs and waits; meanwhile many want one. Answers how many syncs there were after the first, and what each heard
    /// when those ended like this.
    fn many_beside_one(outcome: Result<()>) -> Option<(usize, Result<()>, Vec<Result<()>>)> {
        let folder = folder()?;
        let together = Arc::new(Together::default());
        let before = together.failed();
        let (go, wait) = mpsc::channel::<()>();
        let (begun, first_begun) = mpsc::channel();
        let first = thread::spawn({
            let together = Arc::clone(&together);
            move || {
                together.sync(folder, before, || {
                    begun.send(()).unwrap();
                    wait.recv().unwrap();
                    Ok(())
                })
            }
        });
        first_begun.recv().unwrap();
        let syncs = Arc::new(AtomicUsize::new(0));
        let many: Vec<_> = (0..MANY)
            .map(|_| {
                let (together, syncs) = (Arc::clone(&together), Arc::clone(&syncs));
                thread::spawn(move || {
                    together.sync(folder, before, || {
                        syncs.fetch_add(1, Ordering::SeqCst);
                        outcome
                    })
                })
            })
            .collect();
        let deadline = Instant::now() + Duration::from_secs(20);
        while together.lock().folders[&folder].wanted_by <= MANY {
            assert!(Instant::now() < deadline, "not all of them came");
            thread::yield_now();
        }
        assert_eq!(syncs.load(Ordering::SeqCst), 0, "one at a time");
        go.send(()).unwrap();
        let first = first.join().unwrap();
        let heard = many.into_iter().map(|one| one.join().unwrap()).collect();
        assert!(together.lock().folders.is_empty(), "nothing is kept");
        Some((syncs.load(Ordering::SeqCst), first, heard))
    }

    #[test]
    fn one_sync_serves_everybody_who_came_before_it_began_and_nobody_who_came_later() {
        let Some((syncs, first, heard)) = many_beside_one(Ok(())) else { return };
        assert_eq!(syncs, 1, "the sync that ran when they came says nothing about what they put");
        assert_eq!(first, Ok(()));
        assert_eq!(heard, vec![Ok(()); MANY]);
    }

    #[test]
    fn a_sync_that_fails_fails_for_everybody_who_waited_for_it() {
        let Some((syncs, _, heard)) = many_beside_one(Err(Errno::NOSPC)) else { return };
        assert_eq!(syncs, 1);
        assert_eq!(heard, vec![Err(Errno::NOSPC); MANY]);
    }

    #[test]
    fn whoever_opened_the_folder_before_a_failure_hears_of_it_and_whoever_opened_it_later_does_not() {
        let Some(folder) = folder() else { return };
        let together = Together::default();
        let opened = together.failed();
        assert_eq!(together.sync(folder, together.failed(), || Err(Errno::IO)), Err(Errno::IO));
        assert_eq!(together.sync(folder, opened, || Ok(())), Err(Errno::IO));
        assert_eq!(together.sync(folder, together.failed(), || Ok(())), Ok(()));
    }
}
