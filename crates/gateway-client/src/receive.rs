//! An answer on its way in: written to a file that has no name yet, and read as XML at the same time.

use std::io::{self, BufRead, Read};

use bytes::{Buf, Bytes, BytesMut};
use redrive_blob::{BlobError, Sealed, Upload};
use redrive_engine::{Code, Failure, Target};
use tokio::sync::mpsc;

use crate::answer::Answer;
use crate::check::{CheckError, check, check_whole};
use crate::gateway::TARGET;

/// Pieces of an answer that wait for the check.
const WAITING: usize = 8;
/// An answer of up to this size is read whole before it is checked.
const SMALL: usize = 64 << 10;

/// Writes the answer into an upload. What comes out is legal XML to its last byte; it has no name yet.
pub async fn receive(mut answer: Answer, mut upload: Upload) -> Result<Sealed, Failure> {
    let mut small = BytesMut::new();
    let rest = loop {
        let Some(piece) = answer.chunk().await.map_err(blame)? else { break None };
        if small.len() + piece.len() > SMALL {
            break Some(piece);
        }
        small.extend_from_slice(&piece);
    };
    let small = small.freeze();
    upload.write(small.clone()).await.map_err(|error| storage(&error))?;
    match rest {
        // All of it is here: reading it takes less than a hop to another thread and back.
        None => check_whole(&small).map_err(refused)?,
        Some(piece) => on_its_way(small, piece, answer, &mut upload).await?,
    }
    upload.seal().await.map_err(|error| storage(&error))
}

/// Checks an answer on a thread of its own while it comes.
async fn on_its_way(
    first: Bytes,
    mut piece: Bytes,
    mut answer: Answer,
    upload: &mut Upload,
) -> Result<(), Failure> {
    let (sender, receiver) = mpsc::channel(WAITING);
    let checking = tokio::task::spawn_blocking(move || check(Pieces { receiver, piece: first }));
    loop {
        upload.write(piece.clone()).await.map_err(|error| storage(&error))?;
        if sender.send(piece).await.is_err() {
            // The check has seen enough.
            break;
        }
        match answer.chunk().await.map_err(blame)? {
            Some(next) => piece = next,
            None => break,
        }
    }
    drop(sender);
    match checking.await {
        Ok(checked) => checked.map_err(refused),
        Err(error) => Err(Failure::new(Code::SystemInternal, error)),
    }
}

/// What came is no XML document.
fn refused(error: CheckError) -> Failure {
    let code = match error {
        CheckError::BreaksOff | CheckError::Empty => Code::GwTruncated,
        CheckError::Other(_) => Code::GwBadResponse,
    };
    blame(Failure::new(code, format!("the gateway's answer: {error}")).status(200))
}

/// A place that fails is one thing for whoever wants a file converted, whatever its reason; operators read the reason in the
/// message. A full disk, and a bucket that is away or asks for time, are told apart: other rules hold for them.
pub fn storage(error: &BlobError) -> Failure {
    match error {
        BlobError::Full | BlobError::Throttled { .. } | BlobError::Unavailable { .. } => error.failure(),
        // There is no room for results, wherever they go.
        BlobError::BucketFull { .. } => Failure { code: Code::DiskFull, ..error.failure() },
        error => Failure { code: Code::IoError, ..error.failure() },
    }
}

/// The gateway's fault, not that of another target the job may have.
#[must_use]
pub fn blame(failure: Failure) -> Failure {
    match Target::new(TARGET) {
        Ok(gateway) => failure.at(gateway),
        Err(_) => failure,
    }
}

/// Pieces as they come, as something that a parser on a thread of its own can read.
struct Pieces {
    receiver: mpsc::Receiver<Bytes>,
    piece: Bytes,
}

impl Read for Pieces {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let ready = self.fill_buf()?;
        let n = ready.len().min(into.len());
        if let (Some(from), Some(to)) = (ready.get(..n), into.get_mut(..n)) {
            to.copy_from_slice(from);
        }
        self.consume(n);
        Ok(n)
    }
}

impl BufRead for Pieces {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.piece.is_empty() {
            match self.receiver.blocking_recv() {
                Some(piece) => self.piece = piece,
                None => break,
            }
        }
        Ok(&self.piece)
    }

    fn consume(&mut self, n: usize) {
        self.piece.advance(n);
    }
}
