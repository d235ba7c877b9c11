//! A request's body that must come at some pace.
//!
//! Only the time that we wait for the client counts, never the time that it waits for us.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::Limits;
use crate::connection::Phase;

/// The client sends its body slower than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the request's body comes too slowly")]
pub struct TooSlow;

impl TooSlow {
    /// Whether this is why a body could not be read.
    #[must_use]
    pub fn is_cause_of(error: &(dyn std::error::Error + 'static)) -> bool {
        let mut cause = Some(error);
        while let Some(current) = cause {
            if current.is::<Self>() {
                return true;
            }
            cause = current.source();
        }
        false
    }
}

/// See the module.
pub(crate) struct Paced<B> {
    body: B,
    phase: Arc<Phase>,
    limits: Limits,
    received: u64,
    /// How long we have waited, before the wait that goes on now.
    waited: Duration,
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl<B> Paced<B> {
    pub(crate) fn new(body: B, phase: Arc<Phase>, limits: Limits) -> Self {
        Self { body, phase, limits, received: 0, waited: Duration::ZERO, waiting: None }
    }

    /// How long we may have waited for what has come so far.
    fn allowance(&self) -> Duration {
        let earned = self.received.saturating_mul(1000) / self.limits.body_rate.max(1);
        (self.limits.body_grace + Duration::from_millis(earned)).min(self.limits.body_time)
    }
}

impl<B> Body for Paced<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<axum::BoxError>,
{
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        let this = &mut *self;
        let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(cx) else {
            let left = this.allowance().saturating_sub(this.waited);
            let (_, alarm) = this.waiting.get_or_insert_with(|| {
                let now = Instant::now();
                (now, Box::pin(sleep_until(now + left)))
            });
            return alarm.as_mut().poll(cx).map(|()| Some(Err(TooSlow.into())));
        };
        if let Some((since, _)) = this.waiting.take() {
            this.waited += since.elapsed();
        }
        let Some(frame) = frame else {
            this.phase.set_unread(false);
            return Poll::Ready(None);
        };
        let frame = frame.map_err(Into::into);
        if let Some(data) = frame.as_ref().ok().and_then(Frame::data_ref) {
            this.received = this.received.saturating_add(data.len() as u64);
        }
        if this.body.is_end_stream() {
            this.phase.set_unread(false);
        }
        Poll::Ready(Some(frame))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
