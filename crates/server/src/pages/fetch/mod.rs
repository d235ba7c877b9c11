//! Fetch: the batches, one batch, and what people do with them.

mod acts;
mod batch;
mod failures;
mod hosts;
mod list;
mod outcome;
mod proxies;
mod resources;

pub(super) use acts::{cancel, hand_in, retry};
pub(super) use batch::page as batch;
pub(super) use list::page as list;
