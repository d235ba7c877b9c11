//! The last step of a put: a name that replaces nothing, and durable folders.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use async_trait::async_trait;
use rustix::fs::{
    AtFlags, FlockOperation, Gid, Mode, RenameFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT,
};
use rustix::io::Errno;

use super::root::{Root, Stop, Way};
use super::shards::Shards;
use super::{TEMP, read};
use crate::Result;
use crate::digest::{Hashing, Sha256};
use crate::errno;
use crate::error::{Act, BlobError};
use crate::key::Key;
use crate::lane::Lane;
use crate::seam::{Point, Seam};
use crate::temp::{MakeTemp, Sealing, Temp, TempFolder};
use crate::upload::{Placed, Publish, Small, Whole};

/// So often a folder may vanish under a put before it is an error: removals prune empty folders.
const TRIES: usize = 16;

/// Gives uploads their names under one root.
#[derive(Debug, Clone)]
pub(super) struct Publisher {
    pub(super) root: Arc<Root>,
    pub(super) seam: Arc<dyn Seam>,
    /// Whether anything is synced.
    pub(super) durable: bool,
    pub(super) shards: Arc<Shards>,
    pub(super) lane: Arc<Lane>,
}

/// What one try came to.
enum Tried {
    Done(Placed),
    /// A folder or the file that was in the way vanished.
    Again,
}

impl Publisher {
    /// Where temps lie. Asked for again each time: whoever tidied the folder away must not stop uploads until a restart.
    pub(super) fn temp_folder(&self) -> Result<TempFolder> {
        Ok(self.temps_in(Arc::new(self.root.subfolder(TEMP)?)))
    }

    fn temps_in(&self, folder: Arc<OwnedFd>) -> TempFolder {
        TempFolder {
            folder,
            seam: Arc::clone(&self.seam),
            durable: self.durable,
            shared: self.root.is_shared(),
        }
    }

    fn put(&self, sealing: &mut Sealing, key: &Key) -> Result<Placed> {
        for _ in 0..TRIES {
            let way = match self.root.way(key, true, Act::Put) {
                Ok(way) => way,
                Err(Stop::Missing) => continue,
                Err(Stop::Failed(error)) => return Err(error),
            };
            inherit_group(&way, sealing);
            match try_once(&way, &*self.seam, self.durable, sealing, key)? {
                Tried::Done(placed) => return Ok(placed),
                Tried::Again => {}
            }
        }
        Err(BlobError::io("the folder was removed again and again"))
    }

    /// Answers with the temp only when its name was taken: a folder that failed is not asked again about the same file.
    async fn put_made(
        &self,
        make: impl FnOnce(&Self) -> Result<Sealing> + Send + 'static,
        key: &Key,
    ) -> (Option<Sealing>, Result<Placed>) {
        let (this, key) = (self.clone(), key.clone());
        let tried = self.lane.run(move || {
            let mut sealing = make(&this)?;
            let placed = this.put(&mut sealing, &key);
            if !matches!(placed, Ok(Placed::New) | Err(BlobError::AlreadyExists { .. })) {
                sealing.unmark();
            }
            Ok((sealing, placed))
        });
        match tried.await {
            Ok((sealing, Err(taken @ BlobError::AlreadyExists { .. }))) => (Some(sealing), Err(taken)),
            Ok((_, placed)) => (None, placed),
            Err(error) => (None, Err(error)),
        }
    }
}

impl MakeTemp for Publisher {
    fn make(&self) -> Result<Temp> {
        self.temp_folder()?.make()
    }
}

#[async_trait]
impl Publish for Publisher {
    fn temps(&self) -> Arc<dyn MakeTemp> {
        Arc::new(self.clone())
    }

    async fn publish(&self, sealing: Sealing, key: &Key) -> (Option<Sealing>, Result<Placed>) {
        self.put_made(|_| Ok(sealing), key).await
    }

    /// From the first byte on the disk to the last sync in one hop.
    async fn publish_small(&self, small: Small, key: &Key) -> (Option<Whole>, Result<Placed>) {
        let bytes = small.clone();
        let make = |this: &Self| bytes.into_temp(&this.temps_in(this.shards.next(&this.root)?));
        let (back, placed) = self.put_made(make, key).await;
        (back.map(|_| Whole::Small(small)), placed)
    }
}

fn try_once(
    way: &Way<'_>,
    seam: &dyn Seam,
    durable: bool,
    sealing: &mut Sealing,
    key: &Key,
) -> Result<Tried> {
    let (_, name) = key.split();
    let renamed = seam.before(Point::Rename).map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO));
    match renamed.and_then(|()| rename(&sealing.temp.folder().clone(), &sealing.temp.name, way.last(), name))
    {
        Ok(()) => {
            sealing.temp.renamed();
            if !durable {
                return Ok(Tried::Done(Placed::New));
            }
            let synced =
                seam.before(Point::SyncFolder).map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO));
            if let Err(e) = synced.and_then(|()| way.sync_new(sealing.written)) {
                // Nobody was told that it is there, and it may not last: it must not be adopted later.
                let _ = rustix::fs::unlinkat(way.last(), name, AtFlags::empty());
                return Err(errno::folder(Act::Put, "syncing a folder", e));
            }
            Ok(Tried::Done(Placed::New))
        }
        Err(Errno::EXIST) => adopt(way, seam, sealing, key),
        Err(Errno::NOENT)
            if rustix::fs::statat(sealing.temp.folder(), &sealing.temp.name, AtFlags::empty()).is_ok() =>
        {
            Ok(Tried::Again)
        }
        Err(e) => Err(errno::folder(Act::Put, "naming a file", e)),
    }
}

/// A file in a folder that hands its group down has that group, as if it had been made there. Where we may not give it away it keeps
/// ours.
fn inherit_group(way: &Way<'_>, sealing: &Sealing) {
    if !way.is_shared() {
        return;
    }
    let (Ok(folder), Ok(file)) = (rustix::fs::fstat(way.last()), rustix::fs::fstat(&sealing.temp.file))
    else {
        return;
    };
    let hands_down = Mode::from_raw_mode(folder.st_mode).contains(Mode::SGID);
    if hands_down && file.st_gid != folder.st_gid {
        let _ = rustix::fs::fchown(&sealing.temp.file, None, Some(Gid::from_raw(folder.st_gid)));
    }
}

/// Renames without replacing. Where the file system has no such rename, a second name is made and the first removed.
fn rename(from: &OwnedFd, temp: &str, to: &OwnedFd, name: &str) -> rustix::io::Result<()> {
    match rustix::fs::renameat_with(from, temp, to, name, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            rustix::fs::linkat(from, temp, to, name, AtFlags::empty())?;
            // The second name is what counts; a first name that stays is swept.
            let _ = rustix::fs::unlinkat(from, temp, AtFlags::empty());
            Ok(())
        }
        answer => answer,
    }
}

/// Something has the name. The same bytes are adopted: made young under the lock that removals take too, and synced,
/// because whoever put them may have died before that.
fn adopt(way: &Way<'_>, seam: &dyn Seam, sealing: &Sealing, key: &Key) -> Result<Tried> {
    let Some((file, head)) = read::open_in(way, key, Act::Put)? else {
        let there = rustix::fs::statat(way.last(), key.split().1, AtFlags::SYMLINK_NOFOLLOW);
        return match there {
            Ok(_) => Err(BlobError::Denied {
                act: Act::Put,
                place: crate::error::Place::Folder,
                reason: "a folder has this name".to_owned(),
            }),
            Err(_) => Ok(Tried::Again),
        };
    };
    let file = File::from(file);
    let failed = |what: &'static str| move |e| errno::folder(Act::Put, what, e);
    seam.before(Point::Adopt).map_err(|e| errno::io(Act::Put, "adopting a file", e))?;
    match rustix::fs::flock(file.as_fd(), FlockOperation::LockShared) {
        Ok(()) | Err(Errno::NOTSUP | Errno::NOSYS | Errno::NOLCK) => {}
        Err(e) => return Err(failed("locking a file")(e)),
    }
    let there = hash_of(&file).map_err(|e| errno::io(Act::Put, "reading what is there", e))?;
    if there != sealing.sha256 || head.bytes != sealing.bytes {
        return Err(BlobError::AlreadyExists { key: key.clone(), there });
    }
    if rustix::fs::fstat(&file).map_err(failed("looking at a file"))?.st_nlink == 0 {
        return Ok(Tried::Again);
    }
    seam.before(Point::Refresh).map_err(|e| errno::io(Act::Put, "adopting a file", e))?;
    let keep = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let times = Timestamps { last_access: keep, last_modification: now };
    rustix::fs::futimens(&file, &times).map_err(failed("adopting a file"))?;
    rustix::fs::fsync(&file).map_err(failed("syncing a file"))?;
    way.sync().map_err(failed("syncing a folder"))?;
    Ok(Tried::Done(Placed::Adopted))
}

/// The hash of a file, from its beginning.
pub(super) fn hash_of(file: &File) -> std::io::Result<Sha256> {
    let mut hashing = Hashing::default();
    let mut block = vec![0; 128 * 1024];
    loop {
        match file.read_at(&mut block, hashing.bytes()) {
            Ok(0) => return Ok(hashing.end()),
            Ok(got) => hashing.update(block.get(..got).unwrap_or_default()),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}
