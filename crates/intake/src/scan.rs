//! One look at what lies in `retry/` and `queue/`: the oldest files first, however many there are.
//!
//! A look costs one listing, and memory for the files that may be taken before the next one. Files that are still being copied are
//! left: on a folder a file is whole when two looks at some distance find the same, and it is not empty.

use std::collections::{BinaryHeap, HashMap};
use std::time::Duration;

use futures::TryStreamExt;
use redrive_blob::BlobError;
use redrive_blob::shelf::{Item, Shelf, Version};
use redrive_engine::Timestamp;
use tokio::time::Instant;

use crate::layout::{Place, is_wanted};

/// So many files of a folder are remembered from one look.
const MOST: usize = 20_000;

/// What a look found.
#[derive(Debug, Default)]
pub struct Look {
    /// Files that can be taken, in the order in which they are.
    pub ready: Vec<Item>,
    /// How many are still being copied, or are empty.
    pub growing: usize,
    /// How many are no PDFs by their names.
    pub ignored: usize,
    /// How many lie there in all.
    pub lie: usize,
    /// When one that is growing now may be whole.
    pub again: Option<Duration>,
}

/// What was seen, and since when it has not changed.
#[derive(Debug, Default)]
pub struct Scanner {
    /// A file must look the same for so long; nothing where files appear whole.
    settle: Duration,
    seen: HashMap<String, (Version, Instant)>,
}

impl Scanner {
    /// Files must look the same for so long.
    #[must_use]
    pub fn new(settle: Duration) -> Self {
        Self { settle, seen: HashMap::new() }
    }

    /// Looks once.
    pub async fn look(&mut self, shelf: &dyn Shelf) -> Result<Look, BlobError> {
        let mut look = Look::default();
        let mut seen = HashMap::new();
        let now = Instant::now();
        for place in [Place::Retry, Place::Queue] {
            let folder = place.key().map_err(BlobError::from)?;
            let mut oldest = BinaryHeap::new();
            let mut items = shelf.list(&folder);
            while let Some(item) = items.try_next().await? {
                let Some(path) = place.path_of(&item.key) else { continue };
                if !is_wanted(path) {
                    look.ignored += 1;
                    continue;
                }
                look.lie += 1;
                oldest.push(ByAge(item));
                if oldest.len() > MOST {
                    oldest.pop();
                }
            }
            for ByAge(item) in oldest.into_sorted_vec() {
                let since = self.since(&item, now);
                if item.bytes > 0 && now.duration_since(since) >= self.settle {
                    look.ready.push(item);
                    continue;
                }
                look.growing += 1;
                if item.bytes > 0 {
                    let left = self.settle.saturating_sub(now.duration_since(since));
                    look.again = Some(look.again.map_or(left, |again| again.min(left)));
                }
                seen.insert(item.key.as_str().to_owned(), (item.version, since));
            }
        }
        self.seen = seen;
        Ok(look)
    }

    /// Since when a file has looked like this.
    fn since(&self, item: &Item, now: Instant) -> Instant {
        match self.seen.get(item.key.as_str()) {
            Some((version, since)) if *version == item.version => *since,
            Some(_) | None => now,
        }
    }
}

/// Sorted by age, then by name: the same on every machine.
struct ByAge(Item);

impl ByAge {
    fn rank(&self) -> (Timestamp, &str) {
        (self.0.modified, self.0.key.as_str())
    }
}

impl PartialEq for ByAge {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for ByAge {}

impl PartialOrd for ByAge {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByAge {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }
}
