//! An upload on its way to disk: an unlinked file, written in large pieces, so that memory is that of a piece.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use tokio::task::spawn_blocking;

/// Large enough that the disk is asked seldom.
const PIECE: usize = 256 * 1024;

/// A file that grows.
pub(super) struct Spool {
    file: Option<File>,
    buffer: Vec<u8>,
    length: u64,
}

impl Spool {
    /// Begins a file in the folder. It has no name: whatever happens, nothing is left over.
    pub(super) async fn new(folder: PathBuf) -> io::Result<Self> {
        let file = spawn_blocking(move || tempfile::tempfile_in(folder)).await??;
        Ok(Self { file: Some(file), buffer: Vec::new(), length: 0 })
    }

    /// How many bytes it has.
    pub(super) fn len(&self) -> u64 {
        self.length
    }

    /// Adds to its end.
    pub(super) async fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(bytes);
        self.length += bytes.len() as u64;
        if self.buffer.len() >= PIECE { self.flush().await } else { Ok(()) }
    }

    /// The file, with everything in it.
    pub(super) async fn finish(mut self) -> io::Result<File> {
        self.flush().await?;
        self.file.take().ok_or_else(gone)
    }

    async fn flush(&mut self) -> io::Result<()> {
        let mut file = self.file.take().ok_or_else(gone)?;
        let mut buffer = std::mem::take(&mut self.buffer);
        let (file, buffer) = spawn_blocking(move || {
            file.write_all(&buffer)?;
            buffer.clear();
            io::Result::Ok((file, buffer))
        })
        .await??;
        (self.file, self.buffer) = (Some(file), buffer);
        Ok(())
    }
}

/// A write before failed, or was given up.
fn gone() -> io::Error {
    io::Error::other("the upload's file is gone")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[tokio::test]
    async fn what_goes_in_is_in_the_file() {
        let mut spool = Spool::new(std::env::temp_dir()).await.unwrap();
        let piece: Vec<u8> = (0..=255).cycle().take(100_000).collect();
        for _ in 0..7 {
            spool.push(&piece).await.unwrap();
        }
        assert_eq!(spool.len(), 700_000);
        let file = spool.finish().await.unwrap();
        let mut found = vec![0; 700_000];
        file.read_exact_at(&mut found, 0).unwrap();
        assert!(found.chunks(100_000).all(|chunk| chunk == piece));
        assert_eq!(file.metadata().unwrap().len(), 700_000);
    }
}
