//! Dead letters as other systems read them: protobuf `DeadLetterTask` (`proto/jobs.proto`).
//!
//! Secrets go before anything leaves: what is exported or published never held them. Whoever replays a job reads the real values
//! from the job's own payload.

mod letter;
mod messages;

pub use letter::dead_letter;
pub use messages::{
    DeadLetterTask, DownloadTask, HttpHeader, JobState, JobStatus, ProxyHint, StorageHint, TaskAttributes,
};
pub use prost::Message;
