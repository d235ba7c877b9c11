//! One connection: HTTP/1 on a guarded pipe, told when to stop.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Request, Response};
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::Limits;
use crate::body::Paced;
use crate::pipe::Pipe;

/// What is read ahead of a body.
const BUFFER: usize = 64 * 1024;

/// What a connection is doing, shared by the pipe below HTTP and the service above it.
#[derive(Debug, Default)]
pub(crate) struct Phase {
    now: AtomicU8,
    unread: AtomicBool,
}

/// A request's head is awaited; the client has begun, or has just connected.
pub(crate) const HEAD: u8 = 0;
/// A request is being answered.
pub(crate) const BUSY: u8 = 1;
/// Between two requests.
pub(crate) const IDLE: u8 = 2;

impl Phase {
    pub(crate) fn get(&self) -> u8 {
        self.now.load(Ordering::Acquire)
    }

    pub(crate) fn set(&self, phase: u8) {
        self.now.store(phase, Ordering::Release);
    }

    /// Whether there is a request body that nobody has read to its end.
    pub(crate) fn has_unread(&self) -> bool {
        self.unread.load(Ordering::Acquire)
    }

    pub(crate) fn set_unread(&self, unread: bool) {
        self.unread.store(unread, Ordering::Release);
    }
}

/// Serves one connection to its end.
pub(crate) async fn run(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    limits: Limits,
    mut stopping: watch::Receiver<bool>,
) {
    let _ = stream.set_nodelay(true);
    let phase = Arc::new(Phase::default());
    let pipe = Pipe::new(stream, Arc::clone(&phase), limits);
    let service =
        service_fn(move |request| answer(request, peer, router.clone(), Arc::clone(&phase), limits));
    let connection = http1::Builder::new()
        // The pipe has the clocks: hyper's own knows no difference between a slow head and an idle connection.
        .header_read_timeout(None)
        .max_header_size(limits.head_bytes)
        // A hundred uploads at once shall not hold four hundred kilobytes each.
        .max_buf_size(BUFFER.max(2 * limits.head_bytes))
        .serve_connection(TokioIo::new(pipe), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = async { drop(stopping.wait_for(|stop| *stop).await) } => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(event = "door.broken_off", %error, "a connection ended badly");
    }
}

async fn answer(
    request: Request<Incoming>,
    peer: SocketAddr,
    router: Router,
    phase: Arc<Phase>,
    limits: Limits,
) -> Result<Response<Answer>, Infallible> {
    phase.set(BUSY);
    phase.set_unread(!request.body().is_end_stream());
    let watched = Arc::clone(&phase);
    let mut request = request.map(|body| Body::new(Paced::new(body, watched, limits)));
    request.extensions_mut().insert(ConnectInfo(peer));
    let response = TowerToHyperService::new(router).call(request).await?;
    Ok(response.map(|body| Answer { body, phase }))
}

/// An answer's body; when it is gone the connection is idle.
pub(crate) struct Answer {
    body: Body,
    phase: Arc<Phase>,
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.phase.set(IDLE);
    }
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
