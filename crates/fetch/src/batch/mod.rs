//! How a batch is: its snapshot, its resources, and what is missing. Servers, command lines and pages say the same.

mod failed;
mod missing;
mod resources;
mod snapshot;
mod waiting;

pub use missing::Missing;
pub use snapshot::summary;
