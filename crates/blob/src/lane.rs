//! Work that blocks and comes in streams, by a few threads.
//!
//! A thread that has ended one piece goes on with the next that waits: none of them sleeps between two pieces, and nobody is woken
//! for each. There are at most so many threads as make the disk busy; what is beyond waits for them, and its caller with it.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::Result;
use crate::error::BlobError;

/// So many at once: more of them make no disk faster, and each costs its turns on the processor.
const MOST: usize = 16;

type Piece = Box<dyn FnOnce() + Send>;

/// See the module.
#[derive(Default)]
pub(crate) struct Lane(Mutex<Pieces>);

#[derive(Default)]
struct Pieces {
    waiting: VecDeque<Piece>,
    threads: usize,
}

impl Lane {
    /// Runs `work` where it may block. It runs to its end even when nobody waits for it any more.
    pub(crate) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (tell, told) = oneshot::channel();
        let piece = Box::new(move || {
            // One that panics is its caller's trouble; the thread goes on with the others.
            if let Ok(came) = catch_unwind(AssertUnwindSafe(work)) {
                let _ = tell.send(came);
            }
        });
        if let Some(hand) = self.take_in(piece) {
            tokio::task::spawn_blocking(move || hand.work());
        }
        told.await.unwrap_or_else(|_| Err(BlobError::io("work on the disk was stopped")))
    }

    /// The piece waits; a thread for it when there may be one more.
    fn take_in(self: &Arc<Self>, piece: Piece) -> Option<Hand> {
        let mut pieces = self.lock();
        pieces.waiting.push_back(piece);
        (pieces.threads < MOST).then(|| {
            pieces.threads += 1;
            Hand(Some(Arc::clone(self)))
        })
    }

    fn lock(&self) -> MutexGuard<'_, Pieces> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Lane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lane")
    }
}

/// A thread's place among those of a lane, until nothing waits.
struct Hand(Option<Arc<Lane>>);

impl Hand {
    fn work(mut self) {
        while let Some(piece) = self.next() {
            piece();
        }
    }

    /// Whoever finds nothing leaves in the same moment: what comes after that has a thread begun for it.
    fn next(&mut self) -> Option<Piece> {
        let mut pieces = self.0.as_ref()?.lock();
        let piece = pieces.waiting.pop_front();
        if piece.is_none() {
            pieces.threads -= 1;
            drop(pieces);
            self.0 = None;
        }
        piece
    }
}

impl Drop for Hand {
    /// One that never began, because its runtime went down. When it was the last, whoever waits is told.
    fn drop(&mut self) {
        let Some(lane) = self.0.take() else { return };
        let mut pieces = lane.lock();
        pieces.threads -= 1;
        let unheard = if pieces.threads == 0 { std::mem::take(&mut pieces.waiting) } else { VecDeque::new() };
        drop(pieces);
        drop(unheard);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Condvar, mpsc};

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_comes_in_a_stream_is_all_done_and_never_by_more_than_so_many() {
        let (lane, now, most) =
            (Arc::new(Lane::default()), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let all: Vec<_> = (0..2_000_usize)
            .map(|n| {
                let (lane, now, most) = (Arc::clone(&lane), Arc::clone(&now), Arc::clone(&most));
                tokio::spawn(async move {
                    let work = move || {
                        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::yield_now();
                        now.fetch_sub(1, Ordering::SeqCst);
                        Ok(n)
                    };
                    lane.run(work).await
                })
            })
            .collect();
        for (n, one) in all.into_iter().enumerate() {
            assert_eq!(one.await.unwrap().unwrap(), n);
        }
        assert!(most.load(Ordering::SeqCst) <= MOST, "{most:?}");
        // Nobody stays where nothing waits: a thread answers first, and leaves then.
        while lane.lock().threads > 0 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn as_many_as_there_may_be_run_at_once_and_one_that_panics_takes_nobody_with_it() {
        let lane = Arc::new(Lane::default());
        let met = Arc::new((Mutex::new(0), Condvar::new()));
        let together = || {
            let met = Arc::clone(&met);
            let lane = Arc::clone(&lane);
            // Each waits until all have begun.
            let work = move || {
                let mut here = met.0.lock().unwrap();
                *here += 1;
                met.1.notify_all();
                drop(met.1.wait_while(here, |here| *here < MOST).unwrap());
                Ok(())
            };
            tokio::spawn(async move { lane.run(work).await })
        };
        let all: Vec<_> = (0..MOST).map(|_| together()).collect();
        for one in all {
            one.await.unwrap().unwrap();
        }
        let panics = lane.run::<()>(|| panic!("a piece that panics")).await;
        assert!(panics.unwrap_err().to_string().contains("stopped"));
        assert!(lane.run(|| Ok(7)).await.is_ok());
    }

    #[test]
    fn whoever_waits_for_a_runtime_that_went_down_is_told_and_the_next_one_works() {
        let lane = Arc::new(Lane::default());
        let (done, told) = mpsc::channel();
        let hand = lane.take_in(Box::new(move || done.send(()).unwrap())).unwrap();
        drop(hand);
        assert!(told.recv().is_err(), "its caller hears that it was not done");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(lane.run(|| Ok(7))).unwrap(), 7);
    }
}
