//! What the store can do, one verb a file.

pub(crate) mod act;
pub(crate) mod batch;
pub(crate) mod born;
pub(crate) mod breaker;
pub(crate) mod claim;
pub(crate) mod desk;
pub(crate) mod enqueue;
pub(crate) mod finish;
pub(crate) mod group;
pub(crate) mod key;
pub(crate) mod lease;
pub(crate) mod minutes;
pub(crate) mod purge;
pub(crate) mod session;
pub(crate) mod targets;
pub(crate) mod token;
