//! The way from the root to a key, one segment at a time, links refused.

use std::fs::DirBuilder;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use redrive_model::Timestamp;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::lasting::{Identity, Lasting};
use super::together::{Failed, Together};
use crate::Result;
use crate::errno;
use crate::error::{Act, BlobError};
use crate::key::Key;
use crate::temp::Moment;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const PRIVATE: Mode = Mode::RWXU;
/// What people share: the umask takes away what it takes away.
const SHARED: Mode = Mode::RWXU.union(Mode::RWXG).union(Mode::RWXO);
/// Of a root that people share only what lies below these is pruned: the other folders are theirs, also when they are empty.
const PRUNED: [&str; 2] = ["pdf/", "temp/"];

/// An open root. Everything is reached from its handle; its path is never used again.
#[derive(Debug)]
pub(crate) struct Root {
    fd: OwnedFd,
    lasting: Lasting,
    together: Together,
    /// Whether people use it too.
    shared: bool,
}

/// The folders between the root and a key, all open, and how they are called from the root on.
pub(crate) struct Way<'a> {
    root: &'a Root,
    names: &'a str,
    below: Vec<OwnedFd>,
    /// What had failed before they were opened.
    failed: Failed,
}

/// Why a way ends early.
pub(crate) enum Stop {
    /// A folder on it is missing, or something that is no folder has its name.
    Missing,
    /// It cannot be gone.
    Failed(BlobError),
}

impl Root {
    /// Opens the root, and makes it and its parents when they are missing. The root itself may be a link: the
    /// operator chose it.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Self::open_as(path, false)
    }

    /// Opens a root that people use too: what is made below it has the modes that the umask leaves.
    pub(crate) fn open_shared(path: &Path) -> Result<Self> {
        Self::open_as(path, true)
    }

    fn open_as(path: &Path, shared: bool) -> Result<Self> {
        let failed = |e| errno::io(Act::Open, "opening the folder", e);
        if !path.is_dir() {
            DirBuilder::new()
                .recursive(true)
                .mode(folder_mode(shared).as_raw_mode())
                .create(path)
                .map_err(failed)?;
            // The new name must last as long as what is put into it.
            for parent in path.ancestors().skip(1) {
                let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
                if std::fs::File::open(parent).and_then(|folder| folder.sync_all()).is_err() {
                    break;
                }
            }
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(path, flags, Mode::empty());
        let fd = root.map_err(|e| errno::folder(Act::Open, "opening the folder", e))?;
        Ok(Self { fd, lasting: Lasting::default(), together: Together::default(), shared })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Whether people use it too.
    pub(crate) const fn is_shared(&self) -> bool {
        self.shared
    }

    /// A folder of our own directly below the root, made when it is missing.
    pub(crate) fn subfolder(&self, name: &str) -> Result<OwnedFd> {
        match step(&self.fd, name, Some(PRIVATE), Act::Put) {
            Ok(folder) => Ok(folder),
            Err(Stop::Missing) => Err(BlobError::io(format!("{name} is not a folder"))),
            Err(Stop::Failed(error)) => Err(error),
        }
    }

    /// Goes to the folder that holds a key.
    pub(crate) fn way<'a>(&'a self, key: &'a Key, make: bool, act: Act) -> Result<Way<'a>, Stop> {
        let (folders, _) = key.split();
        self.down(folders, make, act)
    }

    /// Goes down some folders.
    pub(crate) fn down<'a>(
        &'a self,
        folders: Option<&'a str>,
        make: bool,
        act: Act,
    ) -> Result<Way<'a>, Stop> {
        let make = make.then(|| folder_mode(self.shared));
        let failed = self.together.failed();
        let mut way = Way { root: self, names: folders.unwrap_or_default(), below: Vec::new(), failed };
        for segment in folders.into_iter().flat_map(|folders| folders.split('/')) {
            let next = step(way.last(), segment, make, act)?;
            way.below.push(next);
        }
        Ok(way)
    }
}

impl Way<'_> {
    /// The last folder.
    pub(crate) fn last(&self) -> &OwnedFd {
        self.below.last().unwrap_or(&self.root.fd)
    }

    /// Whether people use it too.
    pub(crate) const fn is_shared(&self) -> bool {
        self.root.shared
    }

    /// The last folder alone.
    pub(crate) fn into_last(mut self) -> Result<OwnedFd> {
        self.below.pop().ok_or_else(|| BlobError::io("there is no folder below"))
    }

    /// Syncs every folder on the way, the last first: another process may have made one and not yet synced its parent.
    pub(crate) fn sync(&self) -> rustix::io::Result<()> {
        self.below.iter().rev().chain([&self.root.fd]).try_for_each(rustix::fs::fsync)
    }

    /// Syncs the last folder, together with others who want the same.
    pub(crate) fn sync_last(&self) -> rustix::io::Result<()> {
        let sync = || rustix::fs::fsync(self.last());
        match Identity::of(self.last()) {
            Some(folder) => self.root.together.sync(folder, self.failed, sync),
            None => sync(),
        }
    }

    /// Syncs the last folder, into which something was put that was written at this moment, and above it what is not known to
    /// last.
    pub(crate) fn sync_new(&self, written: Moment) -> rustix::io::Result<()> {
        self.sync_last()?;
        let mut synced = Vec::new();
        for (depth, (name, folder)) in self.named().enumerate().collect::<Vec<_>>().into_iter().rev() {
            let identity = Identity::of(folder);
            if !self.root.lasting.knows(name, identity) {
                rustix::fs::fsync(self.parent(depth))?;
                synced.push((name, identity));
            }
        }
        // Only when all of them went well: after a failure nothing is believed.
        for (name, identity) in synced {
            self.root.lasting.learn(name, identity, written);
        }
        Ok(())
    }

    /// Removes the folders on the way that are empty. One that is in use is not empty, or will be made again.
    pub(crate) fn prune(&self) {
        for (depth, (name, _)) in self.named().enumerate().collect::<Vec<_>>().into_iter().rev() {
            if self.root.shared && !PRUNED.iter().any(|ours| name.starts_with(ours)) {
                return;
            }
            let last = name.rsplit('/').next().unwrap_or(name);
            if rustix::fs::unlinkat(self.parent(depth), last, AtFlags::REMOVEDIR).is_err() {
                return;
            }
        }
    }

    /// Every folder with its name from the root on.
    fn named(&self) -> impl Iterator<Item = (&str, &OwnedFd)> {
        let ends = self.names.match_indices('/').map(|(at, _)| at).chain([self.names.len()]);
        ends.map(|end| self.names.get(..end).unwrap_or_default()).zip(&self.below)
    }

    fn parent(&self, depth: usize) -> &OwnedFd {
        depth.checked_sub(1).and_then(|above| self.below.get(above)).unwrap_or(&self.root.fd)
    }
}

const fn folder_mode(shared: bool) -> Mode {
    if shared { SHARED } else { PRIVATE }
}

/// One folder down. A link is refused, whatever it points at. Mostly it is there: it is made when it is found missing.
fn step(folder: &OwnedFd, name: &str, make: Option<Mode>, act: Act) -> Result<OwnedFd, Stop> {
    let open = || rustix::fs::openat(folder, name, FOLDER, Mode::empty());
    let opened = match open() {
        Err(Errno::NOENT) => match make.map(|mode| rustix::fs::mkdirat(folder, name, mode)) {
            None | Some(Err(Errno::NOENT)) => return Err(Stop::Missing),
            Some(Ok(()) | Err(Errno::EXIST)) => open(),
            Some(Err(e)) => return Err(Stop::Failed(errno::folder(act, "making a folder", e))),
        },
        opened => opened,
    };
    match opened {
        Ok(next) => Ok(next),
        Err(Errno::NOENT) => Err(Stop::Missing),
        Err(Errno::NOTDIR | Errno::LOOP) => Err(obstacle(folder, name, make.is_some(), act)),
        Err(e) => Err(Stop::Failed(errno::folder(act, "opening a folder", e))),
    }
}

/// What stands where a folder is needed: a link, or a file.
fn obstacle(folder: &OwnedFd, name: &str, make: bool, act: Act) -> Stop {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => {
            Stop::Failed(errno::linked(act, "opening a folder"))
        }
        Ok(_) if make => Stop::Failed(BlobError::Denied {
            act,
            place: crate::error::Place::Folder,
            reason: "a file has the name of a folder that is needed".to_owned(),
        }),
        Ok(_) | Err(_) => Stop::Missing,
    }
}

/// When a file was put or adopted.
pub(crate) fn modified(stat: &Stat) -> Timestamp {
    let nanos = i32::try_from(stat.st_mtime_nsec).unwrap_or_default();
    Timestamp::new(stat.st_mtime, nanos).unwrap_or(Timestamp::MAX)
}

/// The size of a file.
pub(crate) fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or_default()
}
