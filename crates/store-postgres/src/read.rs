//! Looking at jobs and what belongs to them. Nothing here writes.

pub(crate) mod dead;
pub(crate) mod desk;
pub(crate) mod jobs;
pub(crate) mod minutes;
pub(crate) mod overview;
pub(crate) mod trail;

/// A list looks at no more rows than this for one page.
const SCAN: i64 = 20_000;
/// So many rows for each that is wanted are looked at first.
const NEAR: i64 = 2;
