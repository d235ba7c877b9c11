//! How a batch is: its snapshot, its resources, and what is missing. Servers, command lines and pages say the same.

mod failed;
mod missing;
mod resources;
mod snapshot;
mod waiting;

pub use missing::Missing;
pub use snapshot::summary;

/// What members carry is read so many members at a time: one may have a quarter of a megabyte.
const AT_A_TIME: usize = 20;
