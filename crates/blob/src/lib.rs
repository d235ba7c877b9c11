//! Artifacts: what jobs read and make, too large for a row.
//!
//! One trait, [`Blobs`], on a folder ([`Folder`]) and on a bucket ([`S3`]), with the same promises on both ([`Scratch`] is for what
//! can be made again, and promises no durability):
//!
//! - **Durable before answered.** A folder: temp → fsync → rename → fsync of the folders. A bucket: the answer to the
//!   request that makes the object visible.
//! - **Put once.** A key is never overwritten. The same bytes again are adopted, other bytes are an error. So a put
//!   whose answer was lost is simply made again.
//! - **Hashed while it streams,** and stopped at the limit + 1 byte; nothing of what was refused stays.
//! - **A few chunks of memory,** whatever the size: a hundred uploads at once hold less than a hundred megabytes.
//! - **Names cannot leave.** A [`Key`] has no way up, and a folder follows no link.
//! - **No retries.** An error says what it is ([`BlobError::code`]); the engine decides.
//!
//! ```
//! use redrive_blob::{Blobs, BlobsExt, Folder, Key};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let home = tempfile::tempdir()?;
//! let blobs = Folder::open(home.path().join("uploads")).await?;
//!
//! // Bytes first, name last: the key may hold the hash.
//! let mut upload = blobs.begin(50 << 20).await?;
//! upload.write("%PDF-1.7 …").await?;
//! let mut sealed = upload.seal().await?;
//! let key = Key::parse(&format!("sources/{}.pdf", sealed.sha256()))?;
//! let stored = sealed.finish(&key).await?;
//! assert_eq!(stored.bytes, 12);
//!
//! blobs.verify(&key, &stored.sha256).await?;
//! # Ok(())
//! # }
//! ```
//!
//! Rows point at artifacts; the row is written after the artifact is durable. What a crash leaves without a row is
//! removed by [`sweep`], what retention says is over by [`expire`]. [`room`] tells how full the disk is.
//!
//! What is deliberately absent: a rename, an overwrite, an append, a retry loop, and any knowledge of which rows there
//! are ([`References`] asks those who know).

mod blobs;
mod blocking;
mod digest;
mod errno;
mod error;
mod expire;
mod ext;
mod folder;
mod key;
mod lane;
mod location;
mod range;
pub mod room;
mod s3;
mod scratch;
mod seam;
pub mod shelf;
mod sweep;
mod temp;
mod upload;

pub use blobs::{Blobs, ByteStream, Head, Listed, Reading, Removed, Temps};
pub use digest::{Hashing, Sha256};
pub use error::{Act, BlobError, Place};
pub use expire::{Expired, expire};
pub use ext::{BlobsExt, PutError};
pub use folder::Folder;
pub use key::{Key, KeyError, MAX_KEY_BYTES, MAX_SEGMENT_BYTES};
pub use location::Location;
pub use range::ByteRange;
pub use s3::{Conditional, Conditionals, S3, S3Settings};
pub use scratch::Scratch;
pub use seam::{Point, Seam, Seamless};
pub use sweep::{ReferenceError, References, Sweep, SweepError, SweepFailure, Swept, sweep};
pub use temp::Mark;
pub use upload::{Placed, Sealed, Stored, Upload};

/// What every call answers.
pub type Result<T, E = BlobError> = std::result::Result<T, E>;
