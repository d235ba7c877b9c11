//! Bytes between a shelf and a folder of this machine, piece by piece.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use bytes::Bytes;
use futures::TryStreamExt;
use redrive_blob::{Blobs, Sealed};
use redrive_engine::{Code, Failure};
use redrive_gateway_client::{Outgoing, storage};

use super::ours;

/// So much is read at once.
const PIECE: usize = 256 << 10;

/// Writes what comes into a new file.
pub(super) async fn write(path: &Path, mut from: Outgoing) -> Result<(), Failure> {
    let path = path.to_owned();
    let mut file = blocking(move || File::create_new(path)).await?;
    while let Some(piece) = from.bytes.try_next().await.map_err(|error| error.failure())? {
        file = blocking(move || file.write_all(&piece).map(|()| file)).await?;
    }
    // A file system that counts late says so now.
    blocking(move || file.flush()).await
}

/// Uploads a file, which may have at most so many bytes. It has no name yet.
pub(super) async fn upload(mut file: File, blobs: &dyn Blobs, most: u64) -> Result<Sealed, Failure> {
    let mut upload = blobs.begin(most).await.map_err(|error| storage(&error))?;
    loop {
        let (back, piece) = blocking(move || {
            let mut piece = Vec::with_capacity(PIECE);
            (&mut file).take(PIECE as u64).read_to_end(&mut piece)?;
            Ok((file, Bytes::from(piece)))
        })
        .await?;
        if piece.is_empty() {
            break;
        }
        file = back;
        upload.write(piece).await.map_err(|error| storage(&error))?;
    }
    upload.seal().await.map_err(|error| storage(&error))
}

async fn blocking<T: Send + 'static>(
    act: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(act).await;
    done.map_err(|error| Failure::new(Code::SystemInternal, error))?.map_err(|error| ours(&error))
}
