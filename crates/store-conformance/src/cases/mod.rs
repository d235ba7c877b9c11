//! The cases, one area a file, one function a case. A case whose name starts with an id (`c1_`) is that case of the
//! project's list; `Also covers:` in its comment names further ones.

pub mod act;
pub mod bad_input;
pub mod batch;
pub mod breaker;
pub mod charge;
pub mod claim;
pub mod dead;
pub mod dead_list;
pub mod desk;
pub mod documents;
pub mod event;
pub mod finish;
pub mod idempotency;
pub mod lanes;
pub mod lease;
pub mod list;
pub mod long;
pub mod minutes;
pub mod probe;
pub mod race;
pub mod record;
pub mod rescue;
pub mod retention;
pub mod retry;
pub mod session;
pub mod shape;
pub mod targets;
pub mod token;
pub mod told;
pub mod trail;
pub mod unique;
pub mod waiting;
