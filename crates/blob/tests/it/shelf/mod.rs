//! Tests of the places that belong to people.
//!
//! `moves.rs` runs the same cases on a real directory, on `s3s-fs` and on moto. Each of the two servers is wrong where the other is
//! right, so each shows what the other cannot:
//!
//! - `s3s-fs` keeps the condition on a copy's source, and ignores those on its target and on removals. Its lists have no ETags, so
//!   versions there are size and second. What a person replaces must differ in size to be seen.
//!   Its copies can be seen half made, so it cannot show many movers at once.
//! - moto keeps the condition on removals, ignores the one on a copy's source, and has ETags everywhere.
//! - Neither refuses a copy onto something that is there: only the fake in `faults.rs` does, as AWS does. Neither gives a copy an ETag
//!   of its own, as AWS does after parts and with keys of one's own: the fake does that too.

mod faults;
pub(crate) mod killed;
mod kit;
mod links;
pub(crate) mod memory;
mod moves;
mod shared;
mod watched;
