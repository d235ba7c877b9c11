//! A shelf that is a bucket.
//!
//! The store copies, we look, then the source is removed if it is still what was copied. No bytes pass through us, and there is a copy
//! at every moment. What a store does not keep of its conditions is replaced by a look right before the act.

use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use redrive_model::Timestamp;

use super::ours::Ours;
use super::seam::{MovePoint, MoveSeam, at};
use super::{Item, Meta, OpenItem, Relocated, Shelf, Version, clear};
use crate::Result;
use crate::blobs::Blobs;
use crate::error::{Act, BlobError, Place};
use crate::key::Key;
use crate::s3::{Conditional, Failed, Objects, S3, S3Settings, Seen};
use crate::seam::Seamless;

/// So often objects may come and go under a move before it is an error.
const TRIES: usize = 8;
/// Which version a copy was made of. It tells a move that was made before from another file, when the source is gone already and the
/// ETag of a copy is not that of its source.
const MOVED: &str = "redrive-moved";
/// The hash of what we put.
const HASH: &str = "sha256";

/// A bucket that belongs to people.
#[derive(Debug)]
pub struct BucketShelf {
    s3: S3,
    objects: Objects,
    name: String,
    seam: Arc<dyn MoveSeam>,
}

impl BucketShelf {
    /// Opens a bucket, and asks it what it keeps of its word. Errs when it cannot be written to.
    pub async fn open(settings: S3Settings) -> Result<Self> {
        Self::open_with(settings, Arc::new(Seamless)).await
    }

    /// [`BucketShelf::open`] with faults.
    pub async fn open_with(settings: S3Settings, seam: Arc<dyn MoveSeam>) -> Result<Self> {
        let s3 = S3::open(settings).await?;
        let objects = Objects::of(&s3).await?;
        let name = objects.root();
        Ok(Self { s3, objects, name, seam })
    }

    /// The ETag. Where lists do not tell it, size and second of change, so that a list and a look say the same.
    fn version(&self, etag: Option<&str>, bytes: u64, modified: Timestamp) -> Version {
        match etag {
            Some(etag) if self.objects.promises.etags => etag.to_owned(),
            Some(_) | None => format!("{bytes}-{}", modified.as_second()),
        }
    }

    fn version_of(&self, seen: &Seen) -> Version {
        self.version(seen.etag.as_deref(), seen.bytes, seen.modified)
    }

    fn item(&self, key: &Key, seen: &Seen) -> Item {
        Item { key: key.clone(), bytes: seen.bytes, version: self.version_of(seen), modified: seen.modified }
    }

    /// Whether an object is what a move of this version left.
    fn arrived(&self, there: &Seen, meant: &Version) -> bool {
        self.version_of(there) == *meant || there.meta.get(MOVED) == Some(meant)
    }

    /// Whether two objects have the same bytes: by their ETags, by the hashes that we kept, or by reading them.
    async fn same(&self, from: &Key, source: &Seen, to: &Key, target: &Seen) -> Result<bool> {
        if source.bytes != target.bytes {
            return Ok(false);
        }
        if source.etag.is_some() && source.etag == target.etag {
            return Ok(true);
        }
        if let (Some(first), Some(second)) = (source.meta.get(HASH), target.meta.get(HASH)) {
            return Ok(first == second);
        }
        Ok(self.objects.hash(from).await? == self.objects.hash(to).await?)
    }

    /// Copies; nothing when the condition was not met or the source is gone: then everything has to be looked at again. When the answer
    /// was lost, the next look tells.
    async fn copy(&self, from: &Key, source: &Seen, to: &Key, meta: &Meta) -> Result<Option<Copied>> {
        let mut all = source.meta.clone();
        all.extend(meta.clone());
        all.insert(MOVED.to_owned(), self.version_of(source));
        match self.objects.copy(from, source, to, &all, from != to).await {
            Ok(etag) => Ok(Some(Copied { etag, lost: None })),
            Err(Failed::Condition | Failed::Error(BlobError::NotFound { .. })) => Ok(None),
            Err(Failed::Error(error @ BlobError::Unavailable { .. })) => {
                Ok(Some(Copied { etag: None, lost: Some(error) }))
            }
            Err(Failed::Error(error)) => Err(error),
        }
    }

    /// Removes the source; whether everything has to be looked at again. A store that removes whatever is there is asked right before.
    async fn remove(&self, from: &Key, source: &Seen) -> Result<bool> {
        if self.objects.promises.delete == Conditional::Ignored {
            let there = self.objects.look(from, Act::Delete).await?;
            if there.is_none_or(|there| self.version_of(&there) != self.version_of(source)) {
                return Ok(true);
            }
        }
        match self.objects.remove(from, source).await {
            Ok(()) => Ok(false),
            Err(Failed::Condition | Failed::Error(BlobError::NotFound { .. })) => Ok(true),
            Err(Failed::Error(error @ BlobError::Unavailable { .. })) => {
                // The answer may be lost and the deed done.
                match self.objects.look(from, Act::Delete).await {
                    Ok(None) => Ok(false),
                    Ok(Some(_)) | Err(_) => Err(error),
                }
            }
            Err(Failed::Error(error)) => Err(error),
        }
    }

    /// The source is not there, or something else. Then the target says whether the move was made before.
    async fn settled(
        &self,
        to: &Key,
        meant: &Version,
        target: Option<Seen>,
        source: Option<Seen>,
        copied: Option<&Copied>,
    ) -> Result<Relocated> {
        let target = match target {
            Some(target) if self.arrived(&target, meant) => Some(target),
            // Another mover may have made all of it since the target was looked at.
            _ => self.objects.look(to, Act::Put).await?.filter(|target| self.arrived(target, meant)),
        };
        let now = target.as_ref().map(|target| self.version_of(target));
        Ok(match (source, target, now) {
            (None, Some(_), Some(version)) => Relocated::Done { version },
            (Some(source), Some(target), Some(version)) => match copied {
                Some(copied) if self.undo(to, &target, &source, copied).await? => {
                    Relocated::Changed { version: self.version_of(&source) }
                }
                Some(_) | None => Relocated::Overtaken { version },
            },
            (Some(source), _, _) => Relocated::Changed { version: self.version_of(&source) },
            (None, _, _) => Relocated::Missing,
        })
    }

    /// On a store that copies whatever is there, it may have copied what came after our look. That copy goes again.
    async fn undo(&self, to: &Key, target: &Seen, source: &Seen, copied: &Copied) -> Result<bool> {
        let ours = copied.etag.is_some() && copied.etag == target.etag && source.etag == target.etag;
        if self.objects.promises.source == Conditional::Honoured || !ours {
            return Ok(false);
        }
        match self.objects.remove(to, target).await {
            Ok(()) | Err(Failed::Condition | Failed::Error(BlobError::NotFound { .. })) => Ok(true),
            Err(Failed::Error(error)) => Err(error),
        }
    }
}

/// A copy of ours in this call.
struct Copied {
    etag: Option<String>,
    lost: Option<BlobError>,
}

#[async_trait]
impl Shelf for BucketShelf {
    fn root(&self) -> &str {
        &self.name
    }

    fn list(&self, below: &Key) -> BoxStream<'static, Result<Item>> {
        let etags = self.objects.promises.etags;
        self.objects
            .list(below)
            .map_ok(move |line| {
                let version = match line.etag {
                    Some(etag) if etags => etag,
                    Some(_) | None => format!("{}-{}", line.bytes, line.modified.as_second()),
                };
                Item { key: line.key, bytes: line.bytes, version, modified: line.modified }
            })
            .boxed()
    }

    async fn look(&self, key: &Key) -> Result<Option<(Item, Meta)>> {
        let seen = self.objects.look(key, Act::Read).await?;
        Ok(seen.map(|seen| (self.item(key, &seen), seen.meta)))
    }

    async fn open(&self, key: &Key) -> Result<OpenItem> {
        let (seen, bytes) = self.objects.open(key).await?;
        Ok(OpenItem { item: self.item(key, &seen), bytes })
    }

    async fn relocate(&self, from: &Key, version: &Version, to: &Key, meta: &Meta) -> Result<Relocated> {
        let mut copied: Option<Copied> = None;
        for _ in 0..TRIES {
            // The target first: what is done next is done to the source, and was looked at last.
            let target = self.objects.look(to, Act::Put).await?;
            let source = self.objects.look(from, Act::Read).await?;
            let source = match source {
                Some(source) if self.version_of(&source) == *version => source,
                other => return self.settled(to, version, target, other, copied.as_ref()).await,
            };
            if from == to {
                return Ok(Relocated::Done { version: version.clone() });
            }
            let Some(target) = target else {
                if let Some(Copied { lost: Some(error), .. }) = copied {
                    return Err(error);
                }
                at(&self.seam, MovePoint::BeforeCopy).await?;
                copied = self.copy(from, &source, to, meta).await?;
                continue;
            };
            let ours = copied.as_ref().and_then(|copied| copied.etag.as_ref()) == target.etag.as_ref();
            let verified = ours && target.etag.is_some() && target.bytes == source.bytes;
            if !verified && !self.same(from, &source, to, &target).await? {
                return Ok(Relocated::Taken);
            }
            at(&self.seam, MovePoint::AfterCopy).await?;
            if self.remove(from, &source).await? {
                continue;
            }
            at(&self.seam, MovePoint::AfterDelete).await?;
            return Ok(Relocated::Done { version: self.version_of(&target) });
        }
        Err(BlobError::Unavailable {
            act: Act::Put,
            timeout: false,
            retry_after: None,
            reason: "objects came and went while one was moved".to_owned(),
        })
    }

    async fn tag(&self, key: &Key, version: &Version, meta: &Meta) -> Result<Option<Version>> {
        let Some(there) = self.objects.look(key, Act::Read).await? else { return Ok(None) };
        if self.version_of(&there) != *version {
            // A copy onto itself may change the ETag, and somebody may have died right after it.
            let tagged = there.meta.get(MOVED) == Some(version)
                && meta.iter().all(|(name, value)| there.meta.get(name) == Some(value));
            return Ok(tagged.then(|| self.version_of(&there)));
        }
        match self.copy(key, &there, key, meta).await? {
            None => return Ok(None),
            Some(Copied { lost: Some(error), .. }) => return Err(error),
            Some(Copied { lost: None, .. }) => {}
        }
        Ok(self.objects.look(key, Act::Read).await?.map(|there| self.version_of(&there)))
    }

    fn blobs(&self) -> Arc<dyn Blobs> {
        Arc::new(Ours(Arc::new(self.s3.clone())))
    }

    async fn clear(&self, below: &Key) -> Result<u64> {
        clear::check(below, Place::Bucket)?;
        let mut removed = 0;
        let mut lines = self.objects.list(below);
        while let Some(line) = lines.try_next().await? {
            self.objects.remove_any(&line.key).await?;
            removed += 1;
        }
        Ok(removed)
    }

    /// A bucket does not tell.
    async fn changed(&self, _: &[Key]) {
        std::future::pending::<()>().await;
    }
}
