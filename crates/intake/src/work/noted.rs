//! What a run has made, as it notes it before anything gets its name.

use redrive_blob::{Blobs, BlobsExt, Key, Sha256};
use serde::{Deserialize, Serialize};

/// Saved under the lease, so that whoever comes after a crash knows what must be there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noted {
    /// The key that the PDF is to have in `result/`.
    pub pdf: String,
    /// What was made from it.
    pub outputs: Vec<Output>,
    /// Pages, where the gateway said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<u32>,
    /// What the gateway warned of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// One file that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// Its key.
    pub key: String,
    /// Its hash, in hexadecimal.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
}

impl Noted {
    /// Whether everything is there as it was noted. Anything else is made again.
    pub(super) async fn stands(&self, blobs: &dyn Blobs) -> bool {
        for output in &self.outputs {
            let (Ok(key), Some(hash)) = (Key::parse(&output.key), Sha256::parse(&output.sha256)) else {
                return false;
            };
            if blobs.verify(&key, &hash).await.is_err() {
                return false;
            }
        }
        true
    }

    /// As the job's row refers to it: the PDF where it really lies, and its outputs.
    #[must_use]
    pub fn reference(&self, pdf: &Key) -> String {
        let noted = Self { pdf: pdf.as_str().to_owned(), ..self.clone() };
        serde_json::to_string(&noted).unwrap_or_default()
    }

    /// Reads what a row refers to.
    #[must_use]
    pub fn parse(reference: &str) -> Option<Self> {
        serde_json::from_str(reference).ok()
    }
}
