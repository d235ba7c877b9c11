//! A place that belongs to people: they put files in, rename, replace and remove them while we work.
//!
//! Other places hold artifacts that are ours and never change ([`Blobs`]). Here nothing is certain but what was just looked at,
//! so every answer carries a [`Version`] and every act says which version it means. No act replaces anything, and nothing is ever removed
//! but by a [`Shelf::relocate`] whose target was seen to have the bytes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;
use redrive_model::Timestamp;

use crate::Result;
use crate::blobs::{Blobs, ByteStream};
use crate::key::Key;

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
    /// Other bytes have the target's name. Nothing was changed.
    Taken,
    /// The source is not what was meant, and the target is not there. Nothing was changed.
    Changed {
        /// What the source is now.
        version: Version,
    },
    /// Neither source nor target is there.
    Missing,
}

/// Where a move can be stopped, for tests: the process may be killed there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MovePoint {
    /// Nothing was done yet.
    BeforeCopy,
    /// The target has the bytes; the source is still there. On a folder both are one step, and this comes after it.
    AfterCopy,
    /// The source is gone; nobody was told yet.
    AfterDelete,
}

/// A place that belongs to people.
#[async_trait]
pub trait Shelf: Send + Sync + fmt::Debug + 'static {
    /// Which place it is, without secrets: the same for every process that works on it.
    fn root(&self) -> &str;

    /// Everything below a folder, in no promised order, page by page. Names that are no keys are left out and logged; so are links.
    fn list(&self, below: &Key) -> BoxStream<'static, Result<Item>>;

    /// What lies at a key, and what is said beside it.
    async fn look(&self, key: &Key) -> Result<Option<(Item, Meta)>>;

    /// Opens a file.
    async fn open(&self, key: &Key) -> Result<OpenItem>;

    /// Moves a file of this version: copy, verify, delete. It can be repeated after a crash at any point, and by two at once; the
    /// answer tells what was found. On a folder it is one rename that replaces nothing, and both folders are synced.
    async fn relocate(&self, from: &Key, version: &Version, to: &Key, meta: &Meta) -> Result<Relocated>;

    /// Changes what is said beside an object of this version, where the place can keep that. Answers its version now; nothing when
    /// it is not that version any more.
    async fn tag(&self, key: &Key, version: &Version, meta: &Meta) -> Result<Option<Version>>;

    /// The same place for artifacts of ours: results, reports, parts. What is put there can be read by those who can read the
    /// folder.
    fn blobs(&self) -> Arc<dyn Blobs>;

    /// Removes what lies below a folder of ours (`temp/…`), and the folder. Nothing of people's is ever below it.
    async fn clear(&self, below: &Key) -> Result<u64>;

    /// Resolves when something may have changed below one of these folders; never, where the place cannot tell.
    async fn changed(&self, below: &[Key]);
}
