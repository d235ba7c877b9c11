//! A place that belongs to people: they put files in, rename, replace and remove them while we work.
//!
//! Other places hold artifacts that are ours and never change ([`Blobs`]). Here nothing is certain but what was just looked at,
//! so every answer carries a [`Version`] and every act says which version it means. No act replaces anything, and nothing of people's is ever
//! removed but by a [`Shelf::relocate`] whose target was seen to have the bytes. On a folder ([`FolderShelf`]) a move is one rename; on a
//! bucket ([`BucketShelf`]) the store copies, we look, and the source goes if it is still what was copied.

mod beside;
mod bucket;
mod clear;
mod folder;
mod ours;
mod rename;
mod seam;
mod watch;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;
use redrive_model::Timestamp;

use crate::Result;
use crate::blobs::{Blobs, ByteStream};
use crate::key::Key;

pub use beside::beside;
pub use bucket::BucketShelf;
pub use folder::FolderShelf;
pub use seam::{MovePoint, MoveSeam};

/// What a place says about a file without reading it: an ETag, or size and time of change. Equal means unchanged.
pub type Version = String;

/// What is said beside an object, where the place can keep that: buckets can, folders cannot.
pub type Meta = BTreeMap<String, String>;

/// A file on a shelf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Where it lies.
    pub key: Key,
    /// Its size.
    pub bytes: u64,
    /// What it is, without having read it.
    pub version: Version,
    /// When it was last changed, by the place's own clock.
    pub modified: Timestamp,
}

/// An open file.
pub struct OpenItem {
    /// What it was when it was opened.
    pub item: Item,
    /// Its bytes, all of them, or an error.
    pub bytes: ByteStream,
}

impl fmt::Debug for OpenItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenItem").field("item", &self.item).finish_non_exhaustive()
    }
}

/// What became of a move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Relocated {
    /// It lies at the target, durably, and no longer at the source.
    Done {
        /// What the place says about it now.
        version: Version,
    },
    /// It lies at the target, and the source has something else by now, which stays there: a newer upload.
    Overtaken {
        /// What the place says about the copy.
        version: Version,
    },
    /// Something else has the target's name. Nothing was changed. On a folder a file of its own with the same bytes is something else
    /// too: it is a person's, and one of the two would have to be removed. [`beside`] makes the next name to try.
    Taken,
    /// The source is not what was meant, and the target does not have that either. Nothing was changed.
    Changed {
        /// What the source is now.
        version: Version,
    },
    /// The source is gone, and the target does not have it.
    Missing,
}

/// A place that belongs to people.
#[async_trait]
pub trait Shelf: Send + Sync + fmt::Debug + 'static {
    /// Which place it is, without secrets: the same for every process that works on it.
    fn root(&self) -> &str;

    /// Everything below a folder, in no promised order, page by page. Names that are no keys are left out and logged; so are links.
    fn list(&self, below: &Key) -> BoxStream<'static, Result<Item>>;

    /// What lies at a key, and what is said beside it, in names of lower case: also the `sha256` of what we put, and on a bucket
    /// `redrive-moved`, the version that a copy was made of. A link is refused.
    async fn look(&self, key: &Key) -> Result<Option<(Item, Meta)>>;

    /// Opens a file. What is open is read to its end, or errs, whatever becomes of its name.
    async fn open(&self, key: &Key) -> Result<OpenItem>;

    /// Moves a file of this version: copy, verify, delete. It can be repeated after a crash at any point, and by two at once; the
    /// answer tells what was found. On a folder it is one rename that replaces nothing, and both folders are synced. `meta` is added to what
    /// is said beside it.
    async fn relocate(&self, from: &Key, version: &Version, to: &Key, meta: &Meta) -> Result<Relocated>;

    /// Changes what is said beside an object of this version, where the place can keep that. Answers its version now; nothing when
    /// it is not that version any more.
    async fn tag(&self, key: &Key, version: &Version, meta: &Meta) -> Result<Option<Version>>;

    /// The same place for artifacts of ours: results, reports, parts. What is put there can be read by those who can read the
    /// folder. Nothing there is an orphan: a removal of what is old keeps everything.
    fn blobs(&self) -> Arc<dyn Blobs>;

    /// Removes what lies below a folder of ours (`temp/…`), and the folder; answers how many files that were. Anything that is not below
    /// `temp/` is refused.
    async fn clear(&self, below: &Key) -> Result<u64>;

    /// Resolves when something may have come below one of these folders since it last resolved; at once when it is first asked; never, where
    /// the place cannot tell. So whoever looks after each answer misses nothing, also when the question was dropped in between.
    async fn changed(&self, below: &[Key]);
}
