//! The gateway that is built in: on a loopback port that nobody else needs to know, in this process; its children read the files.

use axum::Router;
use redrive_gateway::http;
use tokio::net::TcpListener;
use tokio::sync::watch;
use url::Url;

use crate::exit::{Exit, Stop};

/// Starts it. It ends when `stopped` says so, after what it has begun.
pub(crate) async fn start(max_upload: u64, stopped: watch::Receiver<bool>) -> Result<Url, Stop> {
    start_with(http::Settings::default(), max_upload, stopped).await
}

/// Starts it with other numbers than the usual.
pub(crate) async fn start_with(
    settings: http::Settings,
    max_upload: u64,
    stopped: watch::Receiver<bool>,
) -> Result<Url, Stop> {
    start_behind(settings, max_upload, |gateway| gateway, stopped).await
}

/// The same, with something around it that sees each request first.
pub(crate) async fn start_behind(
    mut settings: http::Settings,
    max_upload: u64,
    around: impl FnOnce(Router) -> Router + Send + 'static,
    mut stopped: watch::Receiver<bool>,
) -> Result<Url, Stop> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    settings.cage.input = max_upload;
    tokio::spawn(async move {
        let told = async move { drop(stopped.wait_for(|stop| *stop).await) };
        if let Err(error) = http::serve_behind(listener, settings, around, told).await {
            tracing::error!(event = "gateway.ended", %error, "the built-in gateway has ended");
        }
    });
    let url = Url::parse(&format!("http://{address}"));
    url.map_err(|error| Stop::new(Exit::Failed, format!("no URL for {address}: {error}")))
}
