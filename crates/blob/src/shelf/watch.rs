//! Whether something came into a folder: inotify, from handles, for every folder below the watched ones.
//!
//! A watch lives as long as its shelf, so that what comes between two questions is not missed; the first question is answered
//! at once, because nobody watched before. Of folders that are made later the parents tell: they are watched before the answer
//! is given, so that whoever looks then sees what is in them already, and hears of the rest. When the system does not give (all) the
//! watches, that is said once, and only the regular scan sees the rest.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex as Plain, PoisonError};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::{Dir, FileType};
use rustix::io::Errno;
use tokio::io::unix::AsyncFd;
use tokio::sync::Mutex;

use crate::Result;
use crate::blocking;
use crate::error::Act;
use crate::folder::{Root, Stop};
use crate::key::Key;

/// What comes: written to its end, renamed or linked in, a new folder. What goes needs no haste.
const EVENTS: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// The watches of one shelf.
#[derive(Debug, Default)]
pub(super) struct Watches(Plain<HashMap<Vec<Key>, Arc<Mutex<State>>>>);

#[derive(Debug, Default)]
enum State {
    #[default]
    New,
    Open {
        events: Arc<AsyncFd<OwnedFd>>,
        /// Something came, or folders did: they have to be walked before the answer.
        stirred: bool,
        /// It was said that there are not enough watches.
        said: bool,
    },
    /// There is no inotify here.
    Blind,
}

impl Watches {
    /// Resolves when something came below one of these since the last answer. It may be dropped and asked again: nothing is missed.
    pub(super) async fn changed(&self, root: &Arc<Root>, below: &[Key]) {
        let state = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(all.entry(below.to_vec()).or_default())
        };
        let mut state = state.lock().await;
        loop {
            match &mut *state {
                State::New => *state = open(),
                State::Blind => std::future::pending().await,
                State::Open { events, stirred: true, said } => {
                    let walking = Arc::clone(events);
                    let (root, below) = (Arc::clone(root), below.to_vec());
                    let walked = blocking::run(move || Ok(walk(&root, &below, walking.get_ref()))).await;
                    if let Ok(Err(errno)) | Err(errno) = walked.map_err(|_| Errno::IO)
                        && !std::mem::replace(said, true)
                    {
                        let error = std::io::Error::from(errno);
                        tracing::warn!(event = "blob.not_watched", %error, "not every folder can be watched: files there are found by the next scan");
                    }
                    if let State::Open { stirred, .. } = &mut *state {
                        *stirred = false;
                    }
                    return;
                }
                State::Open { events, stirred, .. } => match events.readable().await {
                    Ok(mut ready) => {
                        *stirred = drain(events.get_ref());
                        ready.clear_ready();
                    }
                    Err(_) => *state = State::Blind,
                },
            }
        }
    }
}

#[expect(
    deprecated,
    reason = "sound here: the handle is owned and stays the same; its successor is an unsafe function"
)]
fn open() -> State {
    let events = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC);
    match events.map_err(std::io::Error::from).and_then(AsyncFd::new) {
        Ok(events) => State::Open { events: Arc::new(events), stirred: true, said: false },
        Err(error) => {
            tracing::warn!(event = "blob.not_watched", %error, "folders cannot be watched here: files are found by the next scan");
            State::Blind
        }
    }
}

/// Takes what there is; whether anything came. A folder that was moved away is watched no longer.
fn drain(events: &OwnedFd) -> bool {
    let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
    let mut reader = Reader::new(events, &mut buffer);
    let (mut came, mut left) = (false, Vec::new());
    while let Ok(event) = reader.next() {
        if event.events().contains(ReadFlags::MOVE_SELF) {
            left.push(event.wd());
        }
        came |= event.events() != ReadFlags::IGNORED;
    }
    for watch in left {
        let _ = inotify::remove_watch(events, watch);
    }
    came
}

/// Watches the folders, all that is below them, and what is above them: a folder that is not there yet is made in one that is.
fn walk(root: &Root, below: &[Key], events: &OwnedFd) -> Result<(), Errno> {
    add(events, root.fd())?;
    let mut answer = Ok(());
    for key in below {
        let ends = key.as_str().match_indices('/').map(|(at, _)| at);
        for end in ends {
            if let Some(above) = key.as_str().get(..end)
                && let Ok(way) = root.down(Some(above), false, Act::List)
            {
                answer = add(events, way.last()).and(answer);
            }
        }
        let mut next = vec![key.as_str().to_owned()];
        while let Some(folder) = next.pop() {
            let way = match root.down(Some(&folder), false, Act::List) {
                Ok(way) => way,
                // Gone again, a link, or closed to us: the list does not go there either.
                Err(Stop::Missing | Stop::Failed(_)) => continue,
            };
            add(events, way.last())?;
            for entry in Dir::read_from(way.last())?.flatten() {
                if let Ok(name) = entry.file_name().to_str()
                    && matches!(entry.file_type(), FileType::Directory | FileType::Unknown)
                    && let Ok(inner) = Key::parse(&format!("{folder}/{name}"))
                {
                    next.push(inner.as_str().to_owned());
                }
            }
        }
    }
    answer
}

/// By the handle: whatever has the folder's name by now, this one is watched.
fn add(events: &OwnedFd, folder: impl AsFd) -> Result<(), Errno> {
    let handle = format!("/proc/self/fd/{}", folder.as_fd().as_raw_fd());
    match inotify::add_watch(events, handle, EVENTS) {
        Ok(_) => Ok(()),
        // A folder that was just removed.
        Err(Errno::NOENT) if rustix::fs::fstat(folder).is_ok_and(|stat| stat.st_nlink == 0) => Ok(()),
        Err(e) => Err(e),
    }
}
