//! A handler has its time. What it has begun to commit goes on without it: such steps run in tasks of their own.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use redrive_model::Code;

use crate::app::App;
use crate::refusal::Refusal;

/// Answers when the handler does not.
pub(crate) async fn keep(State(app): State<App>, request: Request, next: Next) -> Response {
    match tokio::time::timeout(app.limits().deadline, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let text = "This took too long. What was begun may still be done: look before you ask again.";
            Refusal::new(Code::SystemUnavailable, text).into_response()
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
