//! Being told to stop.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What the process answers when it was not let to end well.
const INTERRUPTED: i32 = 130;

/// SIGTERM or SIGINT. A second one means now: the process ends, and the leases of what ran do the rest.
pub(crate) async fn told_to_stop() {
    let mut told = Told::listen();
    told.next().await;
    tokio::spawn(async move {
        told.next().await;
        std::process::exit(INTERRUPTED);
    });
}

struct Told(Option<Signal>, Option<Signal>);

impl Told {
    fn listen() -> Self {
        Self(signal(SignalKind::terminate()).ok(), signal(SignalKind::interrupt()).ok())
    }

    async fn next(&mut self) {
        let wait = async |signal: &mut Option<Signal>| match signal {
            Some(signal) => drop(signal.recv().await),
            None => std::future::pending().await,
        };
        tokio::select! {
            () = wait(&mut self.0) => {}
            () = wait(&mut self.1) => {}
        }
    }
}
