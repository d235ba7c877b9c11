//! A shelf that is a folder of this machine.
//!
//! Everything goes from an open handle of the root, segment by segment, and refuses links, like [`Folder`](crate::Folder). What is made
//! has the modes that the umask leaves, so that people can read it; what they put keeps its own.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::BoxStream;

use super::ours::Ours;
use super::seam::MoveSeam;
use super::watch::Watches;
use super::{Item, Meta, OpenItem, Relocated, Shelf, Version, clear, rename};
use crate::Result;
use crate::blobs::Blobs;
use crate::blocking;
use crate::error::BlobError;
use crate::folder::{Folder, modified, size};
use crate::key::Key;
use crate::seam::Seamless;

/// A folder that belongs to people.
#[derive(Debug)]
pub struct FolderShelf {
    folder: Folder,
    name: String,
    seam: Arc<dyn MoveSeam>,
    watches: Watches,
}

impl FolderShelf {
    /// Opens a folder, and makes it when it is missing. Errs when it cannot be used, or when its path is no text.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, Arc::new(Seamless)).await
    }

    /// [`FolderShelf::open`] with faults.
    pub async fn open_with(path: impl AsRef<Path>, seam: Arc<dyn MoveSeam>) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let folder = Folder::open_shared(&path).await?;
        let name = blocking::run(move || {
            let path = std::fs::canonicalize(&path)
                .map_err(|e| crate::errno::io(crate::Act::Open, "opening the folder", e))?;
            let path =
                path.to_str().ok_or_else(|| BlobError::settings("the path of the folder is no text"))?;
            Ok(format!("file://{path}"))
        });
        Ok(Self { folder, name: name.await?, seam, watches: Watches::default() })
    }
}

#[async_trait]
impl Shelf for FolderShelf {
    fn root(&self) -> &str {
        &self.name
    }

    fn list(&self, below: &Key) -> BoxStream<'static, Result<Item>> {
        let listed = self.folder.list(Some(below));
        listed
            .map(|listed| {
                listed.map(|listed| Item {
                    version: rename::version(listed.bytes, listed.modified),
                    key: listed.key,
                    bytes: listed.bytes,
                    modified: listed.modified,
                })
            })
            .boxed()
    }

    async fn look(&self, key: &Key) -> Result<Option<(Item, Meta)>> {
        let (root, key) = (Arc::clone(self.folder.root()), key.clone());
        let there = blocking::run(move || Ok((rename::look(&root, &key)?, key))).await?;
        let (Some(stat), key) = there else { return Ok(None) };
        let (bytes, modified) = (size(&stat), modified(&stat));
        Ok(Some((Item { version: rename::version(bytes, modified), key, bytes, modified }, Meta::new())))
    }

    async fn open(&self, key: &Key) -> Result<OpenItem> {
        let reading = self.folder.read(key, None).await?;
        let (bytes, modified) = (reading.head.bytes, reading.head.modified);
        let item = Item { key: key.clone(), bytes, version: rename::version(bytes, modified), modified };
        Ok(OpenItem { item, bytes: reading.bytes })
    }

    async fn relocate(&self, from: &Key, version: &Version, to: &Key, _: &Meta) -> Result<Relocated> {
        let (root, seam) = (Arc::clone(self.folder.root()), Arc::clone(&self.seam));
        let (from, version, to) = (from.clone(), version.clone(), to.clone());
        blocking::run(move || rename::relocate(&root, &*seam, &from, &version, &to)).await
    }

    /// A folder keeps nothing beside a file: only the version is looked at.
    async fn tag(&self, key: &Key, version: &Version, _: &Meta) -> Result<Option<Version>> {
        let there = self.look(key).await?;
        Ok(there.map(|(item, _)| item.version).filter(|there| there == version))
    }

    fn blobs(&self) -> Arc<dyn Blobs> {
        Arc::new(Ours(Arc::new(self.folder.clone())))
    }

    async fn clear(&self, below: &Key) -> Result<u64> {
        let (root, below) = (Arc::clone(self.folder.root()), below.clone());
        blocking::run(move || clear::clear(&root, &below)).await
    }

    async fn changed(&self, below: &[Key]) {
        self.watches.changed(self.folder.root(), below).await;
    }
}
