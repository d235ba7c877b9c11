//! An upload on its way to a child: a file without a name, written in large pieces, so that memory is that of a piece.
//!
//! What is no larger than a piece never touches the disk: its file is one of memory.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use tokio::task::spawn_blocking;

/// Large enough that the disk is asked seldom.
const PIECE: usize = 256 * 1024;

/// A file that grows.
pub(super) struct Spool {
    folder: PathBuf,
    file: Option<File>,
    buffer: Vec<u8>,
    length: u64,
    broken: bool,
}

impl Spool {
    /// Begins a file, in the folder when it is large. It has no name: whatever happens, nothing is left over.
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, file: None, buffer: Vec::new(), length: 0, broken: false }
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
        if let (None, false, Some(mut memory)) = (&self.file, self.broken, memory()) {
            memory.write_all(&self.buffer)?;
            return Ok(memory);
        }
        self.flush().await?;
        self.file.take().ok_or_else(gone)
    }

    async fn flush(&mut self) -> io::Result<()> {
        // Until it is whole again.
        if std::mem::replace(&mut self.broken, true) {
            return Err(gone());
        }
        let (file, folder) = (self.file.take(), self.folder.clone());
        let mut buffer = std::mem::take(&mut self.buffer);
        let (file, buffer) = spawn_blocking(move || {
            let mut file = file.map_or_else(|| tempfile::tempfile_in(folder), Ok)?;
            file.write_all(&buffer)?;
            buffer.clear();
            io::Result::Ok((file, buffer))
        })
        .await??;
        (self.file, self.buffer, self.broken) = (Some(file), buffer, false);
        Ok(())
    }
}

/// A file of memory, where the system has such.
#[cfg(target_os = "linux")]
fn memory() -> Option<File> {
    rustix::fs::memfd_create("redrive-pdf", rustix::fs::MemfdFlags::CLOEXEC).ok().map(File::from)
}

#[cfg(not(target_os = "linux"))]
fn memory() -> Option<File> {
    None
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
        let mut spool = Spool::new(std::env::temp_dir());
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

    #[tokio::test]
    async fn what_is_small_needs_no_disk_and_what_is_large_does() {
        let nowhere = PathBuf::from("/nowhere");
        let mut small = Spool::new(nowhere.clone());
        small.push(b"%PDF-").await.unwrap();
        let mut found = [0; 5];
        small.finish().await.unwrap().read_exact_at(&mut found, 0).unwrap();
        assert_eq!(&found, b"%PDF-");
        let mut large = Spool::new(nowhere);
        assert!(large.push(&vec![0; PIECE]).await.is_err());
        assert!(large.finish().await.is_err(), "it must not go on with a part");
    }
}
