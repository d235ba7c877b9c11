//! The gateway's HTTP server: a file in, XML out.
//!
//! The contract is in `docs/gateway.md`. Anything that speaks it can stand in this one's place.

mod convert;
mod form;
mod gate;
mod health;
mod mappings;
mod negotiate;
mod problem;
mod process;
mod spool;
mod state;
mod stream;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use axum::routing::{get, post};
use tokio::net::TcpListener;

use crate::cage;
use problem::{Code, Problem};
use state::Gateway;

/// How a gateway is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// What one file may use. `cage.input` is the largest upload.
    pub cage: cage::Settings,
    /// How many files are converted at a time.
    pub children: usize,
    /// How many more requests may upload and wait.
    pub line: usize,
    /// How long a request may wait in line.
    pub patience: Duration,
    /// What clients may take.
    pub limits: redrive_door::Limits,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            cage: cage::Settings::default(),
            children: std::thread::available_parallelism().map_or(2, std::num::NonZero::get),
            line: 32,
            patience: Duration::from_secs(30),
            limits: redrive_door::Limits::default(),
        }
    }
}

/// Serves on the listener until `shutdown` is done; what has begun may finish.
///
/// Fails at once when no file can be stored where the settings say.
pub async fn serve(
    listener: TcpListener,
    settings: Settings,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    serve_behind(listener, settings, |gateway| gateway, shutdown).await
}

/// The same, with something of the caller's around all routes: what stands there sees each request first, and may answer in the
/// gateway's place.
pub async fn serve_behind(
    listener: TcpListener,
    settings: Settings,
    around: impl FnOnce(Router) -> Router,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    tempfile::tempfile_in(&settings.cage.temp_dir)?;
    let gateway = Arc::new(Gateway::new(&settings));
    // The first conversion says at once whether children can be started and are filtered.
    let first = tokio::spawn({
        let gateway = Arc::clone(&gateway);
        async move {
            if !gateway.health.check(&gateway).await {
                tracing::error!(event = "gateway.sick", "a small PDF cannot be converted");
            }
        }
    });
    let stop = async {
        shutdown.await;
        gateway.gate.stop();
    };
    redrive_door::serve(listener, around(router(Arc::clone(&gateway))), settings.limits, stop).await;
    first.abort();
    Ok(())
}

fn router(gateway: Arc<Gateway>) -> Router {
    Router::new()
        .route("/process", post(process::process))
        .route("/inspect", post(process::inspect))
        .route("/health", get(health::health))
        .route("/mappings", get(mappings::list))
        .route("/mappings/{name}/schema", get(mappings::schema))
        .fallback(async || Problem::new(Code::NotFound, "Look at /mappings, /process, /inspect or /health."))
        .method_not_allowed_fallback(async || Problem::new(Code::MethodNotAllowed, "Try another method."))
        .with_state(gateway)
        .layer(axum::middleware::map_response(harmless))
}

/// No browser shall guess what an answer is.
async fn harmless(mut response: Response) -> Response {
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
