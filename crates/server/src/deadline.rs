//! A handler has its time. What it only reads ends with it: its future is dropped, as when a client goes away. What it has begun to commit
//! goes on without it: such steps run in tasks of their own.
//!
//! The time is that until an answer begins. What comes after that, byte by byte, is watched by the door.

use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use redrive_model::Code;

use crate::limits::Limits;
use crate::refusal::Refusal;

/// Who asked for too much does not ask for the same again at once.
const LATER: Duration = Duration::from_secs(60);

/// By which clock a handler goes. There is no row without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// [`Limits::deadline`].
    Usual,
    /// [`Limits::long_deadline`], for what looks at many jobs or at whole files; with what can be done about it.
    Long(&'static str),
    /// [`Limits::body_deadline`], for what takes files in.
    Body,
}

impl Clock {
    /// How long that is.
    pub(crate) const fn time(self, limits: &Limits) -> Duration {
        match self {
            Self::Usual => limits.deadline,
            Self::Long(_) => limits.long_deadline,
            Self::Body => limits.body_deadline,
        }
    }

    fn refusal(self, time: Duration) -> Refusal {
        let (advice, wait) = match self {
            Self::Usual => ("What was begun may still be done: look before you ask again.", None),
            Self::Long(advice) => (advice, Some(LATER)),
            Self::Body => ("What was taken until now is kept: look before you send it again.", None),
        };
        let text = format!("This took too long: it may take {} s. {advice}", time.as_secs());
        let refusal = Refusal::new(Code::AnswerTimeout, text);
        match wait {
            Some(wait) => refusal.retry_after(wait),
            None => refusal,
        }
    }
}

/// The handler, answered for when it does not answer in time.
pub(crate) fn within<S: Clone + Send + Sync + 'static>(
    handler: MethodRouter<S>,
    clock: Clock,
    limits: &Limits,
) -> MethodRouter<S> {
    handler.layer(from_fn_with_state((clock, clock.time(limits)), keep))
}

async fn keep(State((clock, time)): State<(Clock, Duration)>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    match tokio::time::timeout(time, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            tracing::warn!(event = "request.too_long", path, seconds = time.as_secs());
            clock.refusal(time).into_response()
        }
    }
}

/// Runs a step to its end, whether or not anybody waits for it: a client that goes away never leaves half of it.
pub(crate) async fn to_its_end<T: Send + 'static>(
    step: impl Future<Output = Result<T, Refusal>> + Send + 'static,
) -> Result<T, Refusal> {
    match tokio::spawn(step).await {
        Ok(done) => done,
        Err(error) => {
            tracing::error!(event = "request.broke", "{error}");
            Err(Refusal::new(Code::SystemInternal, "Something went wrong on our side."))
        }
    }
}
