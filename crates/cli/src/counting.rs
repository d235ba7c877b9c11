//! The listener for metrics: where the settings say, or on a free port when that one is taken.

use std::net::SocketAddr;

use redrive_server::Metrics;
use tokio::net::TcpListener;

use crate::exit::{Exit, Stop};

/// Begins to count. Once, before anything else.
pub(crate) fn install() -> Result<Metrics, Stop> {
    Metrics::install().map_err(|error| Stop::new(Exit::Failed, format!("no metrics: {error}")))
}

/// Listens at this address. A port that is taken is no reason not to work: a free one does too, and it is said.
pub(crate) async fn listen(wanted: SocketAddr) -> Result<TcpListener, Stop> {
    let cannot = |error| Stop::new(Exit::Failed, format!("cannot listen on {wanted} for metrics: {error}"));
    match TcpListener::bind(wanted).await {
        Ok(listener) => Ok(listener),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            let listener = TcpListener::bind(SocketAddr::new(wanted.ip(), 0)).await.map_err(cannot)?;
            let at = listener.local_addr()?;
            tracing::warn!(
                event = "metrics.port_taken",
                "METRICS_LISTEN {wanted} is in use by another program; metrics are at http://{at}/metrics"
            );
            Ok(listener)
        }
        Err(error) => Err(cannot(error)),
    }
}
