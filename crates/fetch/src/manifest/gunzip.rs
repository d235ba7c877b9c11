//! Gzip as it comes, with a bound on what it unfolds to.

use std::io::Write;

use flate2::write::MultiGzDecoder;
use redrive_engine::Code;

use super::problem::ManifestProblem;

/// Unpacks piece by piece.
pub(super) struct Gunzip {
    inner: MultiGzDecoder<Vec<u8>>,
}

impl Gunzip {
    /// So much is unpacked at a time: it can unfold to a thousand times as much.
    pub(super) const PIECE: usize = 1_024;

    pub(super) fn new() -> Self {
        Self { inner: MultiGzDecoder::new(Vec::new()) }
    }

    /// What a piece unfolds to.
    pub(super) fn push(&mut self, piece: &[u8]) -> Result<Vec<u8>, ManifestProblem> {
        self.inner.write_all(piece).map_err(|_| damaged())?;
        Ok(std::mem::take(self.inner.get_mut()))
    }

    /// The body has ended: the rest, if it was whole.
    pub(super) fn end(&mut self) -> Result<Vec<u8>, ManifestProblem> {
        self.inner.try_finish().map_err(|_| damaged())?;
        Ok(std::mem::take(self.inner.get_mut()))
    }
}

fn damaged() -> ManifestProblem {
    ManifestProblem::whole(Code::ValidationMalformed, "the body is not valid gzip, is damaged or breaks off")
}
