//! Sizes that bound what a row may hold. Both stores and every door use these same numbers.

use std::time::Duration;

/// Largest job input, in bytes. Larger things belong in an artifact that the input points at.
pub const MAX_INPUT_BYTES: usize = 1 << 20;
/// Largest durable execution state, in bytes.
pub const MAX_STATE_BYTES: usize = 1 << 20;
/// Most jobs in one enqueue call. A larger batch is submitted in parts and sealed at the end.
pub const MAX_ENQUEUE: usize = 10_000;
/// Most jobs one claim may ask for.
pub const MAX_CLAIM: usize = 1_000;
/// Most rows in one page of a list.
pub const MAX_PAGE: usize = 200;
/// A list looks at no more rows than this for one page: where few of them are wanted, a page is short and goes on with its cursor.
pub const MAX_REACH: i64 = 20_000;
/// A failure message longer than this is cut and marked, in bytes.
pub const MAX_MESSAGE_BYTES: usize = 2_000;
/// The message that people outside see is at most this long, in characters.
pub const MAX_PUBLIC_MESSAGE_CHARS: usize = 200;
/// Context of a failure (JSON) longer than this is dropped and marked, in bytes.
pub const MAX_CONTEXT_BYTES: usize = 8_000;
/// A display label (a file name, say) is cut to this, in bytes.
pub const MAX_LABEL_BYTES: usize = 255;
/// What whoever opens a batch may keep with it.
pub const MAX_ABOUT_BYTES: usize = 16 * 1024;
/// Longest workload name, owner, target or key, in bytes.
pub const MAX_NAME_BYTES: usize = 255;
/// Most targets one job may depend on.
pub const MAX_TARGETS: usize = 16;
/// A release gives the attempt back this often per generation, so that rolling restarts cannot run a job for ever.
pub const MAX_RELEASES: u32 = 5;
/// Throttling keeps a job waiting for no longer than this: neither by what it was asked for itself, nor behind a target that asks for
/// time again and again.
pub const THROTTLE_DEADLINE: Duration = Duration::from_secs(24 * 3600);
/// Priorities: 0 runs first, 9 last.
pub const MAX_PRIORITY: u8 = 9;
