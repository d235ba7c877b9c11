//! The bytes of a connection, with clocks: for a head, for idleness, for an answer that nobody reads, for the farewell.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::Limits;
use crate::connection::{BUSY, HEAD, IDLE, Phase};

/// See the module.
pub(crate) struct Pipe {
    stream: TcpStream,
    phase: Arc<Phase>,
    limits: Limits,
    reading: Alarm,
    writing: Alarm,
    farewell: Alarm,
    quiet: Alarm,
    said_goodbye: bool,
}

impl Pipe {
    pub(crate) fn new(stream: TcpStream, phase: Arc<Phase>, limits: Limits) -> Self {
        let mut reading = Alarm::default();
        reading.set(HEAD, limits.head_time);
        Self {
            stream,
            phase,
            limits,
            reading,
            writing: Alarm::default(),
            farewell: Alarm::default(),
            quiet: Alarm::default(),
            said_goodbye: false,
        }
    }

    fn wrote(&mut self, cx: &mut Context<'_>, result: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if result.is_ready() {
            if self.writing.is_running() {
                self.writing.clear();
                // Somebody must look whether the connection is idle from now on.
                cx.waker().wake_by_ref();
            }
            return result;
        }
        self.writing.set(BUSY, self.limits.write_stall);
        self.writing.poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Pipe {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let phase = this.phase.get();
        match phase {
            HEAD => this.reading.set(HEAD, this.limits.head_time),
            // The answer's last bytes may still be on their way; they have a clock of their own.
            IDLE if !this.writing.is_running() => this.reading.set(IDLE, this.limits.idle),
            _ => this.reading.clear(),
        }
        if this.reading.poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let before = buffer.filled().len();
        let result = ready!(Pin::new(&mut this.stream).poll_read(cx, buffer));
        if phase == IDLE && buffer.filled().len() > before {
            this.phase.set(HEAD);
        }
        Poll::Ready(result)
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.wrote(cx, result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.wrote(cx, result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    /// Says goodbye. A client that is still sending what we refused is listened to for a while: closing on it would throw
    /// away the answer that it has not read yet.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if !this.said_goodbye {
            ready!(Pin::new(&mut this.stream).poll_shutdown(cx))?;
            this.said_goodbye = true;
        }
        if !this.phase.has_unread() {
            return Poll::Ready(Ok(()));
        }
        this.farewell.set(BUSY, this.limits.linger);
        let mut waste = [0; 16 * 1024];
        // A task that is always ready would starve the others.
        for _ in 0..64 {
            this.quiet.set(BUSY, this.limits.linger / 5);
            if this.farewell.poll(cx).is_ready() || this.quiet.poll(cx).is_ready() {
                return Poll::Ready(Ok(()));
            }
            let mut buffer = ReadBuf::new(&mut waste);
            match Pin::new(&mut this.stream).poll_read(cx, &mut buffer) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => this.quiet.clear(),
                Poll::Ready(_) => return Poll::Ready(Ok(())),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// A clock for one purpose at a time: set again for the same purpose it goes on.
#[derive(Default)]
struct Alarm {
    running: Option<(u8, Pin<Box<Sleep>>)>,
}

impl Alarm {
    fn set(&mut self, purpose: u8, after: Duration) {
        match &mut self.running {
            Some((current, _)) if *current == purpose => {}
            Some((current, sleep)) => {
                *current = purpose;
                sleep.as_mut().reset(Instant::now() + after);
            }
            None => self.running = Some((purpose, Box::pin(sleep_until(Instant::now() + after)))),
        }
    }

    fn clear(&mut self) {
        self.running = None;
    }

    fn is_running(&self) -> bool {
        self.running.is_some()
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.running {
            Some((_, sleep)) => sleep.as_mut().poll(cx),
            None => Poll::Pending,
        }
    }
}
