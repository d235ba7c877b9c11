//! The points at which a put can be stopped or made to fail, as part of the API.
//!
//! A [`Seam`] is asked before each step that makes a put durable. Production uses [`Seamless`]. Tests and drills give
//! one that returns the error a disk would have returned, or never returns, so that the process can be killed there.

use std::fmt;
use std::io;

/// A step of a put, named as in the fault matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Point {
    /// Bytes are about to be written into the temp.
    WriteTemp,
    /// All bytes are in the temp; it is about to be synced.
    SyncTemp,
    /// The temp is synced; it is about to get its name.
    Rename,
    /// It has its name; the folder is about to be synced.
    SyncFolder,
    /// Something has the name and is open; it is about to be locked and compared.
    Adopt,
    /// It has the same bytes and is locked; it is about to be made young.
    Refresh,
}

/// Something that may fail a step. It runs on a thread that may block.
pub trait Seam: Send + Sync + 'static {
    /// Called before the step; an error stands for the step's own error, and the step is not done.
    fn before(&self, point: Point) -> io::Result<()>;
}

/// No faults.
#[derive(Debug, Clone, Copy, Default)]
pub struct Seamless;

impl Seam for Seamless {
    fn before(&self, _: Point) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for dyn Seam {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seam")
    }
}
