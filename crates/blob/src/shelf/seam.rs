//! The points at which a move can be stopped or made to fail, as part of the API.
//!
//! Like [`Seam`](crate::Seam) for puts. Production uses [`Seamless`].

use std::fmt;
use std::io;
use std::sync::Arc;

use crate::Result;
use crate::blocking;
use crate::errno;
use crate::error::Act;
use crate::seam::Seamless;

/// Where a move can be stopped, for tests: the process may be killed there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MovePoint {
    /// Everything was looked at; nothing was done yet.
    BeforeCopy,
    /// The target has the bytes and was looked at; the source is still there. On a folder both are one step: this comes after it
    /// and before anything is synced.
    AfterCopy,
    /// The source is gone; nobody was told yet.
    AfterDelete,
}

/// Something that may fail a move, or never return. It runs on a thread that may block.
pub trait MoveSeam: Send + Sync + 'static {
    /// Called at the point; an error is what the move ends with.
    fn at(&self, point: MovePoint) -> io::Result<()>;
}

impl MoveSeam for Seamless {
    fn at(&self, _: MovePoint) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for dyn MoveSeam {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MoveSeam")
    }
}

/// Asks on a thread that may block.
pub(super) fn at_now(seam: &dyn MoveSeam, point: MovePoint) -> Result<()> {
    seam.at(point).map_err(|e| errno::io(Act::Put, "moving a file", e))
}

/// Asks for whoever may not block.
pub(super) async fn at(seam: &Arc<dyn MoveSeam>, point: MovePoint) -> Result<()> {
    let seam = Arc::clone(seam);
    blocking::run(move || at_now(&*seam, point)).await
}
