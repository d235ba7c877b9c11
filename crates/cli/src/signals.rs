//! Being told to stop.

use tokio::signal::unix::{SignalKind, signal};

/// SIGTERM or SIGINT.
pub(crate) async fn told_to_stop() {
    let wait = async |kind| match signal(kind) {
        Ok(mut signal) => {
            signal.recv().await;
        }
        Err(_) => std::future::pending().await,
    };
    tokio::select! {
        () = wait(SignalKind::terminate()) => {}
        () = wait(SignalKind::interrupt()) => {}
    }
}
