//! The canonical manifest on its way: in memory while it is small, so that it can be stored again when storing fails, and from
//! then on in an upload of its place.

use bytes::Bytes;
use redrive_blob::{BlobError, Blobs, BlobsExt, Key, Sealed, Sha256, Upload};

use super::quick::Tries;

/// What was written so far.
pub(super) enum Stage {
    Held(Vec<u8>),
    Spilled(Box<Upload>),
}

/// The whole manifest, without a name yet.
pub(super) enum Staged {
    Held { bytes: Bytes, sha256: Sha256 },
    Spilled(Box<Sealed>),
}

impl Stage {
    /// Adds bytes. When they are too many to be held, they go to the place from now on.
    pub(super) async fn write(
        self,
        blobs: &dyn Blobs,
        mut tries: Tries,
        bytes: Vec<u8>,
        hold: bool,
    ) -> Result<Self, BlobError> {
        match self {
            Self::Held(mut held) if hold => {
                held.extend_from_slice(&bytes);
                Ok(Self::Held(held))
            }
            Self::Held(held) => {
                let mut upload = loop {
                    match blobs.begin(u64::MAX).await {
                        Ok(upload) => break upload,
                        Err(error) if !error.is_temporary() || !tries.again(&error).await => {
                            return Err(error);
                        }
                        Err(_) => {}
                    }
                };
                upload.write(held).await?;
                upload.write(bytes).await?;
                Ok(Self::Spilled(Box::new(upload)))
            }
            Self::Spilled(mut upload) => {
                upload.write(bytes).await?;
                Ok(Self::Spilled(upload))
            }
        }
    }

    pub(super) async fn seal(self) -> Result<Staged, BlobError> {
        match self {
            Self::Held(held) => {
                let sha256 = Sha256::of(&held);
                Ok(Staged::Held { bytes: held.into(), sha256 })
            }
            Self::Spilled(upload) => Ok(Staged::Spilled(Box::new(upload.seal().await?))),
        }
    }

    /// How much is held.
    pub(super) fn held(&self) -> usize {
        match self {
            Self::Held(held) => held.len(),
            Self::Spilled(_) => 0,
        }
    }
}

impl Staged {
    pub(super) const fn sha256(&self) -> Sha256 {
        match self {
            Self::Held { sha256, .. } => *sha256,
            Self::Spilled(sealed) => sealed.sha256(),
        }
    }

    /// Gives it its name. What is held is put again as a whole; what is spilled as far as its place allows.
    pub(super) async fn publish(
        &mut self,
        blobs: &dyn Blobs,
        mut tries: Tries,
        key: &Key,
    ) -> Result<(), BlobError> {
        // A folder gives a spilled upload up after its first error; that one says why.
        let mut first = None;
        loop {
            let put = match self {
                Self::Held { bytes, .. } => blobs.put_bytes(key, bytes.clone()).await,
                Self::Spilled(sealed) => sealed.finish(key).await,
            };
            let Err(error) = put else { return Ok(()) };
            let passes = error.is_temporary();
            let error = first.take().unwrap_or(error);
            if !passes || !tries.again(&error).await {
                return Err(error);
            }
            first = Some(error);
        }
    }
}
