//! A folder of this machine.
//!
//! An artifact is a file under its key, mode 0600, in folders of mode 0700. A put is: temp → fsync → rename that replaces
//! nothing → fsync of its folder and of every one above whose name is not known to last. Every step goes segment by segment from an open handle of the root and
//! refuses links, so that a planted link leads nowhere, also when it is swapped in between two steps.

mod lasting;
mod list;
mod publish;
mod read;
mod remove;
mod root;
mod shards;
mod temps;
mod together;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;
use redrive_model::Timestamp;

use crate::Result;
use crate::blobs::{Blobs, Head, Listed, Reading, Removed, Temps};
use crate::blocking;
use crate::digest::Sha256;
use crate::errno;
use crate::error::{Act, BlobError};
use crate::key::Key;
use crate::range::ByteRange;
use crate::room;
use crate::seam::{Seam, Seamless};
use crate::temp::{Mark, Temp};
use crate::upload::{Publish, Upload};

use publish::Publisher;
pub(crate) use root::{Root, Stop, Way, modified, size};
pub(crate) use temps::sweep as sweep_temps;

/// Where temps lie, under the root: the same file system, so that a rename is enough. Those of small uploads lie in folders below it.
pub(crate) const TEMP: &str = ".redrive-temp";

/// Artifacts in a folder.
#[derive(Debug, Clone)]
pub struct Folder {
    root: Arc<Root>,
    path: PathBuf,
    publisher: Arc<Publisher>,
}

impl Folder {
    /// Opens a folder, and makes it when it is missing. A folder that exists keeps its mode.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, Arc::new(Seamless)).await
    }

    /// Opens a folder in which nothing is synced.
    pub(crate) async fn open_scratch(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_as(path.as_ref(), Arc::new(Seamless), false, Root::open).await
    }

    /// Opens a folder that people use too: they can read what is put there, and none of their folders is removed.
    pub(crate) async fn open_shared(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_as(path.as_ref(), Arc::new(Seamless), true, Root::open_shared).await
    }

    /// [`Folder::open`] with faults.
    pub async fn open_with(path: impl AsRef<Path>, seam: Arc<dyn Seam>) -> Result<Self> {
        Self::open_as(path.as_ref(), seam, true, Root::open).await
    }

    async fn open_as(
        path: &Path,
        seam: Arc<dyn Seam>,
        durable: bool,
        open: fn(&Path) -> Result<Root>,
    ) -> Result<Self> {
        let path = path.to_owned();
        let at = path.clone();
        let root = blocking::run(move || {
            let root = open(&at)?;
            root.subfolder(TEMP)?;
            Ok(root)
        });
        let root = Arc::new(root.await?);
        let publisher = Arc::new(Publisher {
            root: Arc::clone(&root),
            seam,
            durable,
            shards: Arc::default(),
            lane: Arc::default(),
        });
        Ok(Self { root, path, publisher })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The root itself, for those who do more with files than putting them.
    pub(crate) const fn root(&self) -> &Arc<Root> {
        &self.root
    }

    pub(crate) fn publisher(&self) -> Arc<dyn Publish> {
        Arc::clone(&self.publisher) as _
    }

    /// Opens a temp that was marked.
    pub(crate) async fn open_temp(&self, mark: &Mark) -> Result<Option<Temp>> {
        let (mark, publisher) = (mark.clone(), Arc::clone(&self.publisher));
        blocking::run(move || publisher.temp_folder()?.open(&mark)).await
    }

    /// Opens a file for whoever may block.
    pub(crate) fn open_now(&self, key: &Key) -> Result<File> {
        Ok(read::open(&self.root, key)?.0)
    }

    /// The hash of a file, for whoever may block; nothing when there is none.
    pub(crate) fn hash_now(&self, key: &Key) -> Result<Option<Sha256>> {
        match self.open_now(key) {
            Ok(file) => {
                publish::hash_of(&file).map(Some).map_err(|e| errno::io(Act::Put, "reading a file", e))
            }
            Err(BlobError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn on_root<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Root) -> Result<T> + Send + 'static,
    {
        let root = Arc::clone(&self.root);
        blocking::run(move || work(&root)).await
    }
}

#[async_trait]
impl Blobs for Folder {
    async fn begin(&self, limit: u64) -> Result<Upload> {
        Ok(Upload::new(limit, self.publisher()))
    }

    async fn resume(&self, mark: &Mark, limit: u64) -> Result<Option<Upload>> {
        let temp = self.open_temp(mark).await?;
        Ok(temp.map(|temp| Upload::of(temp, limit, self.publisher())))
    }

    async fn read(&self, key: &Key, range: Option<ByteRange>) -> Result<Reading> {
        let wanted = key.clone();
        let (file, head) = self.on_root(move |root| read::open(root, &wanted)).await?;
        read::reading(key, file, head, range)
    }

    async fn head(&self, key: &Key) -> Result<Head> {
        let key = key.clone();
        self.on_root(move |root| Ok(read::open(root, &key)?.1)).await
    }

    async fn delete(&self, key: &Key) -> Result<Removed> {
        let key = key.clone();
        self.on_root(move |root| remove::remove(root, &key)).await
    }

    async fn delete_older(&self, key: &Key, before: Timestamp) -> Result<Removed> {
        let key = key.clone();
        self.on_root(move |root| remove::remove_older(root, &key, before)).await
    }

    fn list(&self, under: Option<&Key>) -> BoxStream<'static, Result<Listed>> {
        list::list(Arc::clone(&self.root), under.cloned())
    }

    async fn sweep_temps(&self, before: Timestamp, most: usize) -> Result<Temps> {
        self.on_root(move |root| temps::sweep(root.subfolder(TEMP)?, before, most)).await
    }

    async fn free(&self) -> Result<Option<u64>> {
        self.on_root(|root| room::free_at(root.fd(), Act::Read).map(Some)).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::seam::Point;
    use crate::{BlobsExt, Placed};

    #[derive(Default)]
    struct Noting(Mutex<Vec<Point>>);

    impl Seam for Noting {
        fn before(&self, point: Point) -> std::io::Result<()> {
            self.0.lock().unwrap().push(point);
            Ok(())
        }
    }

    #[tokio::test]
    async fn scratch_is_put_once_and_hashed_like_everything_and_never_synced() {
        let home = tempfile::tempdir().unwrap();
        let seam = Arc::new(Noting::default());
        let scratch = Folder::open_as(home.path(), seam.clone(), false, Root::open).await.unwrap();
        let key = Key::parse("a/b").unwrap();
        let stored = scratch.put_bytes(&key, "one".into()).await.unwrap();
        assert_eq!((stored.placed, stored.sha256), (Placed::New, crate::Sha256::of(b"one")));
        assert!(matches!(scratch.put_bytes(&key, "two".into()).await, Err(BlobError::AlreadyExists { .. })));
        let points = seam.0.lock().unwrap();
        assert!(points.contains(&Point::Rename));
        assert!(!points.contains(&Point::SyncTemp) && !points.contains(&Point::SyncFolder), "{points:?}");
    }
}
