//! Breakers as rows: changed by compare-and-swap, so that any worker may act and none acts twice.

use redrive_model::breaker::{Breaker, Turn};
use redrive_model::{Target, Timestamp};

/// The breaker of one target.
#[derive(Debug, Clone, PartialEq)]
pub struct BreakerRow {
    /// The target it watches.
    pub target: Target,
    /// Raised by every change.
    pub version: i64,
    /// The machine.
    pub breaker: Breaker,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// What became of a compare-and-swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swapped {
    /// Written; this is the new version.
    Done(i64),
    /// Somebody was faster: read again.
    Stale,
}

/// So much of what a breaker did is kept; and of breakers that do nothing any more, for as long as idle workers are.
pub const KEEP_TURNS: usize = 50;

/// Something that a breaker did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnRow {
    /// Its place among all of them.
    pub number: i64,
    /// Whose breaker.
    pub target: Target,
    /// When.
    pub at: Timestamp,
    /// What, why and by whom.
    pub turn: Turn,
}
