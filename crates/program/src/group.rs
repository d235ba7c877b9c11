//! A program's process group: whatever it starts is in it, unless it wants to get away.

use std::io;
use std::os::fd::OwnedFd;
use std::process::ExitStatus;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use tokio::io::unix::AsyncFd;
use tokio::process::Child;

/// A group that is killed when this is dropped.
pub(crate) struct Group(Option<Pid>);

impl Group {
    /// The group that this child leads.
    pub(crate) fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)))
    }

    /// Ends all of it. Safe as long as its leader has not been waited for, or somebody in it lives: the number is theirs till then.
    pub(crate) fn kill(&self) {
        if let Some(leader) = self.0 {
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }

    /// Its leader was waited for; its number may soon be somebody else's.
    pub(crate) fn forget(&mut self) {
        self.0 = None;
    }

    /// Resolves when the leader has ended, before it is waited for: what it left behind can still be killed by its number. Where the
    /// system cannot tell, the leader is waited for and its status answered.
    pub(crate) async fn ended(&self, child: &mut Child) -> io::Result<Option<ExitStatus>> {
        match self.0.and_then(watch) {
            Some(leader) => leader.readable().await.map(|_| None),
            None => child.wait().await.map(Some),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

#[expect(
    deprecated,
    reason = "sound here: the handle is owned and stays the same; its successor is an unsafe function"
)]
fn watch(leader: Pid) -> Option<AsyncFd<OwnedFd>> {
    AsyncFd::new(pidfd_open(leader, PidfdFlags::empty()).ok()?).ok()
}
