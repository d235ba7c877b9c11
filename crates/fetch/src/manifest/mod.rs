//! From a manifest to a batch: judged while it streams, stored as an artifact, and only then handed in.
//!
//! ```text
//! body ──▶ gunzip ──▶ lines ──▶ judge ──▶ canonical NDJSON ──▶ manifests/<batch>.ndjson ──▶ one call to the store
//!         (capped)   (capped)  (each resource,                                             ├ small: batch, members, seal
//!                               each id once)                                              └ large: batch, and a job that unpacks
//! ```
//!
//! Nothing is half-accepted: until that one call there is nothing in the store, and it is all or nothing. A large manifest is unpacked by
//! a job of the workload `fetch.unpack`, which goes on where it was after a crash. The HTTP door and `redrive fetch` alone both come
//! through here.

mod about;
mod again;
mod cancel;
mod commit;
mod destination;
mod entry;
mod fields;
mod gunzip;
mod head;
mod judge;
mod limits;
mod lines;
mod problem;
mod quick;
mod receive;
mod rest;
mod stage;
mod stopped;
mod sweep;
mod unpack;
mod wish;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redrive_blob::{Blobs, Key, KeyError, Sha256};
use redrive_engine::{BatchId, Engine, Failure, Owner};

pub use about::About;
pub use again::{Again, Starter};
pub use cancel::{Cancel, Canceller};
pub use destination::Destinations;
pub(crate) use entry::{Common, Entry};
pub(crate) use head::{Head, Rule};
pub use limits::ManifestLimits;
pub use problem::{ManifestProblem, ManifestProblems, Spot};
pub(crate) use rest::Rest;
pub use sweep::ManifestRetention;
pub(crate) use unpack::unpack_id;
pub use unpack::{Unpack, Unpacker};

use crate::guard::Guard;
use quick::Tries;
use stage::Staged;

/// What manifests are judged by.
#[derive(Debug, Clone)]
pub struct ManifestOptions {
    /// Judges URLs.
    pub guard: Guard,
    /// The names of proxy pools that there are.
    pub pools: BTreeSet<String>,
    /// Where objects may go.
    pub destinations: Destinations,
    /// How much one manifest may have.
    pub limits: ManifestLimits,
    /// So often storage and store are asked within one request.
    pub tries: u32,
    /// The wait before the second try; it doubles.
    pub first_wait: Duration,
}

impl ManifestOptions {
    /// Objects may go there; everything else as usual.
    #[must_use]
    pub fn new(destinations: Destinations) -> Self {
        Self {
            guard: Guard::default(),
            pools: BTreeSet::new(),
            destinations,
            limits: ManifestLimits::default(),
            tries: 3,
            first_wait: Duration::from_millis(100),
        }
    }
}

/// How a manifest is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One document.
    Json,
    /// One resource a line.
    Ndjson,
}

/// How a manifest comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// How it is written.
    pub format: Format,
    /// It is packed.
    pub gzip: bool,
}

/// Takes manifests in, and tells about their batches. Cheap to clone.
#[derive(Clone)]
pub struct Manifests {
    pub(crate) engine: Engine,
    pub(crate) blobs: Arc<dyn Blobs>,
    options: Arc<ManifestOptions>,
}

/// For whom a manifest is handed in, and how it is made safe to repeat.
#[derive(Debug, Clone, Default)]
pub struct Handing {
    /// Whose batch it becomes.
    pub owner: Option<Owner>,
    /// The same key and manifest of an owner give the same batch.
    pub idempotency_key: Option<String>,
    /// The batch's id, where it must be known before: handed in twice it is one batch.
    pub batch: Option<BatchId>,
}

/// A manifest that is judged and written down. Nothing knows of it yet; dropped, it leaves nothing.
pub struct Received {
    batch: BatchId,
    head: Head,
    common: Common,
    count: u32,
    encoded: u64,
    staged: Staged,
}

/// A manifest that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// The batch that it became.
    pub batch: BatchId,
    /// Where it is stored.
    pub manifest_key: String,
    /// How many resources it has.
    pub resource_count: u32,
    /// It was accepted before, and this is that answer.
    pub replayed: bool,
}

/// Why a manifest was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError<E> {
    /// The body broke off.
    #[error("the body broke off: {0}")]
    Body(E),
    /// It has flaws.
    #[error("{0}")]
    Refused(ManifestProblems),
    /// The idempotency key, or the batch's id, was used for another manifest.
    #[error("this key was used for another manifest")]
    Mismatch,
    /// Storage or store are away, also after quick tries. Nothing was accepted, unless the answer to the last call was lost: then the
    /// same idempotency key finds out.
    #[error("{0}")]
    Unavailable(Failure),
}

impl Manifests {
    /// Takes manifests in for this engine, and keeps them in this place.
    #[must_use]
    pub fn new(engine: Engine, blobs: Arc<dyn Blobs>, options: ManifestOptions) -> Self {
        Self { engine, blobs, options: Arc::new(options) }
    }

    /// Where they are kept.
    #[must_use]
    pub fn blobs(&self) -> Arc<dyn Blobs> {
        self.blobs.clone()
    }

    /// What they are judged by.
    #[must_use]
    pub fn options(&self) -> &ManifestOptions {
        &self.options
    }

    fn tries(&self) -> Tries {
        Tries::new(self.options.tries, self.options.first_wait)
    }
}

impl Received {
    /// How many resources it has.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// How many bytes it came in, packed or not.
    #[must_use]
    pub const fn encoded_bytes(&self) -> u64 {
        self.encoded
    }

    /// The hash of its canonical form: the same for the same manifest, however it was written or packed.
    #[must_use]
    pub const fn sha256(&self) -> Sha256 {
        self.staged.sha256()
    }
}

impl fmt::Debug for Manifests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Manifests").field("blobs", &self.blobs).finish_non_exhaustive()
    }
}

impl fmt::Debug for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Received")
            .field("batch", &self.batch)
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

/// Where the manifest of a batch is kept.
pub(crate) fn manifest_key(batch: BatchId) -> String {
    format!("manifests/{batch}.ndjson")
}

/// The same as the key of an artifact.
pub(crate) fn artifact(key: &str) -> Result<Key, KeyError> {
    Key::parse(key)
}
