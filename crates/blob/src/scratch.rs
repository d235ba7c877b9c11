//! A place for files on their way: nothing outlives the machine, and what is small never touches the disk.
//!
//! A million files that are made and removed again cost a file system more than what is in them.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::{Buf, Bytes};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use redrive_model::Timestamp;
use redrive_store::clock::{Clock, SystemClock};

use crate::Result;
use crate::blobs::{Blobs, Head, Listed, Reading, Removed, Temps};
use crate::digest::Sha256;
use crate::error::BlobError;
use crate::folder::Folder;
use crate::key::Key;
use crate::range::ByteRange;
use crate::temp::{MakeTemp, Mark, Sealing};
use crate::upload::{Placed, Publish, Small, Upload, Whole};

/// Artifacts that can be made again. What fits into one block is kept in memory and is gone with the process; the rest lies in
/// a folder, where nothing is synced: whoever uses it verifies what it reads.
#[derive(Debug, Clone)]
pub struct Scratch {
    folder: Folder,
    memory: Memory,
}

impl Scratch {
    /// Opens the folder for what is not small.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Self { folder: Folder::open_scratch(path).await?, memory: Memory::default() })
    }

    fn publisher(&self) -> Arc<dyn Publish> {
        Arc::new(Publisher { place: self.clone(), folder: self.folder.publisher() })
    }

    /// Opens an artifact for whoever may block.
    pub fn open_now(&self, key: &Key) -> Result<Box<dyn Read + Send>> {
        match self.memory.get(key) {
            Some(kept) => Ok(Box::new(kept.bytes.reader())),
            None => Ok(Box::new(self.folder.open_now(key)?)),
        }
    }
}

#[async_trait]
impl Blobs for Scratch {
    async fn begin(&self, limit: u64) -> Result<Upload> {
        Ok(Upload::new(limit, self.publisher()))
    }

    async fn resume(&self, mark: &Mark, limit: u64) -> Result<Option<Upload>> {
        let temp = self.folder.open_temp(mark).await?;
        Ok(temp.map(|temp| Upload::of(temp, limit, self.publisher())))
    }

    async fn read(&self, key: &Key, range: Option<ByteRange>) -> Result<Reading> {
        let Some(kept) = self.memory.get(key) else { return self.folder.read(key, range).await };
        let range = range.map_or(Ok(0..kept.len()), |range| range.resolve(kept.len()))?;
        let within = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(kept.bytes.len());
        let bytes = kept.bytes.slice(within(range.start)..within(range.end));
        Ok(Reading { head: kept.head(), range, bytes: stream::once(async { Ok(bytes) }).boxed() })
    }

    async fn head(&self, key: &Key) -> Result<Head> {
        match self.memory.get(key) {
            Some(kept) => Ok(kept.head()),
            None => self.folder.head(key).await,
        }
    }

    async fn delete(&self, key: &Key) -> Result<Removed> {
        let small = self.memory.lock().remove(key);
        match small {
            Some(kept) => Ok(Removed::Gone { bytes: kept.len() }),
            None => self.folder.delete(key).await,
        }
    }

    async fn delete_older(&self, key: &Key, before: Timestamp) -> Result<Removed> {
        match self.memory.get(key) {
            Some(kept) if kept.modified < before => self.delete(key).await,
            Some(_) => Ok(Removed::Kept),
            None => self.folder.delete_older(key, before).await,
        }
    }

    fn list(&self, under: Option<&Key>) -> BoxStream<'static, Result<Listed>> {
        let below = |key: &Key| under.is_none_or(|under| key.is_below(under));
        let memory = self.memory.lock();
        let small: Vec<Result<Listed>> = memory
            .iter()
            .filter(|(key, _)| below(key))
            .map(|(key, kept)| Ok(Listed { key: key.clone(), bytes: kept.len(), modified: kept.modified }))
            .collect();
        stream::iter(small).chain(self.folder.list(under)).boxed()
    }

    async fn sweep_temps(&self, before: Timestamp, most: usize) -> Result<Temps> {
        self.folder.sweep_temps(before, most).await
    }

    async fn free(&self) -> Result<Option<u64>> {
        self.folder.free().await
    }

    fn lasts(&self) -> bool {
        false
    }
}

/// One small artifact.
#[derive(Debug, Clone)]
struct Kept {
    bytes: Bytes,
    sha256: Sha256,
    modified: Timestamp,
}

impl Kept {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn head(&self) -> Head {
        Head { bytes: self.len(), sha256: Some(self.sha256), modified: self.modified }
    }
}

/// The small ones. Clones are the same.
#[derive(Debug, Clone, Default)]
struct Memory(Arc<Mutex<HashMap<Key, Kept>>>);

impl Memory {
    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, key: &Key) -> Option<Kept> {
        self.lock().get(key).cloned()
    }
}

/// Gives names: in memory to what is small, and in the folder to the rest.
#[derive(Debug)]
struct Publisher {
    place: Scratch,
    folder: Arc<dyn Publish>,
}

impl Publisher {
    /// Puts the bytes there once.
    fn put(&self, key: &Key, Small { bytes, sha256 }: Small) -> Result<Placed> {
        let mut memory = self.place.memory.lock();
        let there = match memory.get(key) {
            Some(kept) => Some(kept.sha256),
            None => self.place.folder.hash_now(key)?,
        };
        match there {
            Some(there) if there != sha256 => Err(BlobError::AlreadyExists { key: key.clone(), there }),
            Some(_) => {
                if let Some(kept) = memory.get_mut(key) {
                    kept.modified = SystemClock.now();
                }
                Ok(Placed::Adopted)
            }
            None => {
                memory.insert(key.clone(), Kept { bytes, sha256, modified: SystemClock.now() });
                Ok(Placed::New)
            }
        }
    }
}

#[async_trait]
impl Publish for Publisher {
    fn temps(&self) -> Arc<dyn MakeTemp> {
        self.folder.temps()
    }

    async fn publish(&self, sealing: Sealing, key: &Key) -> (Option<Sealing>, Result<Placed>) {
        if let Some(Kept { sha256: there, .. }) = self.place.memory.get(key) {
            return (Some(sealing), Err(BlobError::AlreadyExists { key: key.clone(), there }));
        }
        self.folder.publish(sealing, key).await
    }

    async fn publish_small(&self, small: Small, key: &Key) -> (Option<Whole>, Result<Placed>) {
        let placed = self.put(key, small.clone());
        (placed.is_err().then_some(Whole::Small(small)), placed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BlobsExt;

    #[tokio::test]
    async fn what_is_small_never_touches_the_disk_and_each_key_is_put_once() {
        let home = tempfile::tempdir().unwrap();
        let (large, small) = (Bytes::from(vec![7; 1 << 20]), Bytes::from_static(b"small"));
        let scratch = Scratch::open(home.path()).await.unwrap();
        let key = |name: &str| Key::parse(name).unwrap();
        scratch.put_bytes(&key("a/small"), small.clone()).await.unwrap();
        assert!(!home.path().join("a").exists());
        scratch.put_bytes(&key("a/large"), large.clone()).await.unwrap();
        assert_eq!(std::fs::read(home.path().join("a/large")).unwrap(), large);

        for (name, other) in [("a/large", small), ("a/small", large)] {
            let refused = scratch.put_bytes(&key(name), other).await;
            assert!(matches!(refused, Err(BlobError::AlreadyExists { .. })), "{refused:?}");
            let (mut read, there) = (Vec::new(), scratch.hash(&key(name)).await.unwrap());
            scratch.open_now(&key(name)).unwrap().read_to_end(&mut read).unwrap();
            assert_eq!(Sha256::of(&read), there);
        }
        for name in ["a/large", "a/small"] {
            assert!(matches!(scratch.delete(&key(name)).await.unwrap(), Removed::Gone { .. }));
            assert!(scratch.open_now(&key(name)).is_err());
        }
    }
}
