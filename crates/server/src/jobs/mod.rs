//! A session's jobs: looking at them, acting on them.

pub(crate) mod acts;
pub(crate) mod filter;
pub(crate) mod forget;
pub(crate) mod look;

pub(crate) use acts::{cancel, retry};
pub(crate) use forget::{forget_me, forgotten};
pub(crate) use look::{attempts, events, explain, list, one};
