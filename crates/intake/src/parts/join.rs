//! The parts of a shelf, read and put together on a thread that may block, while what comes out is uploaded.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::Arc;

use bytes::{Buf, Bytes};
use futures::StreamExt;
use redrive_blob::{BlobError, Blobs, BlobsExt, ByteStream, Key, Sealed, Sha256, Upload};
use redrive_engine::{Code, Failure};
use redrive_gateway_client::storage;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::assemble::{Parts, Unjoined, assemble};
use super::plan::Range;

/// A piece of the whole on its way to the upload.
const PIECE: usize = 64 << 10;
/// So many pieces wait for it.
const WAITING: usize = 4;

/// Where the parts are.
pub(super) struct Places {
    pub(super) blobs: Arc<dyn Blobs>,
    pub(super) ranges: Vec<Range>,
    pub(super) keys: Vec<(Key, Sha256)>,
}

/// Puts them together into an upload. Nothing comes out when they are something that we do not know.
pub(super) async fn join(places: Places, mut upload: Upload) -> Result<Option<Sealed>, Failure> {
    let (sender, mut receiver) = mpsc::channel::<Bytes>(WAITING);
    let handle = Handle::current();
    let joining = tokio::task::spawn_blocking(move || {
        let mut parts = OnShelf { places, handle };
        let mut out = io::BufWriter::with_capacity(PIECE, Pieces(sender));
        assemble(&mut parts, &mut out)?;
        out.flush()?;
        Ok::<(), Unjoined>(())
    });
    while let Some(piece) = receiver.recv().await {
        upload.write(piece).await.map_err(|error| storage(&error))?;
    }
    match joining.await {
        Ok(Ok(())) => upload.seal().await.map(Some).map_err(|error| storage(&error)),
        Ok(Err(Unjoined::Unknown(why))) => {
            tracing::warn!(event = "intake.not_joined", "the document is converted as a whole: {why}");
            Ok(None)
        }
        Ok(Err(Unjoined::Io(error))) => Err(unread(&error)),
        Err(error) => Err(Failure::new(Code::SystemInternal, error)),
    }
}

/// What the place said when a part could not be read.
fn unread(error: &io::Error) -> Failure {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(inner) = cause {
        if let Some(place) = inner.downcast_ref::<BlobError>() {
            return storage(place);
        }
        let wrapped = inner.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = match wrapped {
            Some(wrapped) => Some(wrapped),
            None => match inner.downcast_ref::<Arc<io::Error>>() {
                Some(shared) => Some(shared.as_ref()),
                None => inner.source(),
            },
        };
    }
    Failure::new(Code::IoError, format!("a part cannot be read: {error}"))
}

struct OnShelf {
    places: Places,
    handle: Handle,
}

impl Parts for OnShelf {
    fn ranges(&self) -> &[Range] {
        &self.places.ranges
    }

    fn open(&mut self, part: usize) -> io::Result<Box<dyn BufRead + '_>> {
        let Some((key, sha256)) = self.places.keys.get(part) else {
            return Err(io::Error::other("no such part"));
        };
        let reading = self.handle.block_on(self.places.blobs.read_verified(key, *sha256));
        let bytes = reading.map_err(io::Error::other)?.bytes;
        let stream = Incoming { bytes, piece: Bytes::new(), handle: self.handle.clone() };
        Ok(Box::new(BufReader::with_capacity(PIECE, stream)))
    }
}

/// A part's bytes, for whoever may block.
struct Incoming {
    bytes: ByteStream,
    piece: Bytes,
    handle: Handle,
}

impl Read for Incoming {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.handle.block_on(self.bytes.next()) {
                Some(piece) => self.piece = piece.map_err(io::Error::other)?,
                None => return Ok(0),
            }
        }
        let n = self.piece.len().min(into.len());
        if let (Some(to), Some(from)) = (into.get_mut(..n), self.piece.get(..n)) {
            to.copy_from_slice(from);
        }
        self.piece.advance(n);
        Ok(n)
    }
}

/// Pieces of the whole, to whoever uploads them.
struct Pieces(mpsc::Sender<Bytes>);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.0.blocking_send(Bytes::copy_from_slice(bytes));
        sent.map_err(|_| io::Error::other("nobody waits for the whole any more"))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
