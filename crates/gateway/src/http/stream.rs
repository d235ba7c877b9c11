//! A large result as an answer's body: read from its file piece by piece, as fast as the client takes it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::cage::Output;

const PIECE: usize = 128 * 1024;

/// See the module.
pub(super) struct Stream {
    output: Arc<Output>,
    position: u64,
    reading: Option<JoinHandle<io::Result<Vec<u8>>>>,
}

impl Stream {
    pub(super) fn new(output: Arc<Output>) -> Self {
        Self { output, position: 0, reading: None }
    }
}

impl Body for Stream {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.is_end_stream() {
            return Poll::Ready(None);
        }
        let (output, position) = (Arc::clone(&self.output), self.position);
        let reading =
            self.reading.get_or_insert_with(|| spawn_blocking(move || output.read_at(position, PIECE)));
        let piece = ready!(Pin::new(reading).poll(cx));
        self.reading = None;
        let piece = piece.map_err(io::Error::from).flatten()?;
        self.position += piece.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(piece.into()))))
    }

    fn is_end_stream(&self) -> bool {
        self.position >= self.output.len()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.output.len().saturating_sub(self.position))
    }
}
