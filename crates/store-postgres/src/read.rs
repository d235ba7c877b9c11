//! Looking at jobs and what belongs to them. Nothing here writes.

pub(crate) mod dead;
pub(crate) mod desk;
pub(crate) mod jobs;
pub(crate) mod minutes;
pub(crate) mod overview;
pub(crate) mod trail;
