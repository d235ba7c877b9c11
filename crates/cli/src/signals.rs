//! Being told to stop: the first time what has begun is finished, the second time it is not.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::exit::{Exit, Stop};

/// How long threads may take to end after everything was done.
const PATIENCE: Duration = Duration::from_secs(5);

/// SIGTERM or SIGINT.
pub(crate) async fn told_to_stop() {
    Told::listen().next().await;
}

/// Runs a command that works until it is told to stop; [`until`] waits for that word. A second signal ends at once; what was leased
/// comes back when its lease runs out.
pub(crate) fn run<F>(command: impl FnOnce(watch::Receiver<bool>) -> F) -> Result<(), Stop>
where
    F: Future<Output = Result<(), Stop>>,
{
    run_on(tokio::runtime::Builder::new_multi_thread().enable_all().build()?, command)
}

/// [`run`] for a command whose work is done by other processes: they get the cores.
pub(crate) fn run_beside_others<F>(command: impl FnOnce(watch::Receiver<bool>) -> F) -> Result<(), Stop>
where
    F: Future<Output = Result<(), Stop>>,
{
    let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(4));
    run_on(tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?, command)
}

fn run_on<F>(
    runtime: tokio::runtime::Runtime,
    command: impl FnOnce(watch::Receiver<bool>) -> F,
) -> Result<(), Stop>
where
    F: Future<Output = Result<(), Stop>>,
{
    let (ended, hasty) = runtime.block_on(async {
        let mut signals = Told::listen();
        let (stop, stopped) = watch::channel(false);
        // One listener for both: nobody hears of the first before the second would be another.
        let twice = async {
            signals.next().await;
            stop.send_replace(true);
            signals.next().await;
        };
        tokio::select! {
            ended = command(stopped) => (ended, false),
            () = twice => {
                let text = "told twice to stop: what was running is tried again later";
                (Err(Stop::new(Exit::Interrupted, text)), true)
            }
        }
    });
    // A thread that hangs must not keep the process.
    runtime.shutdown_timeout(if hasty { Duration::ZERO } else { PATIENCE });
    ended
}

/// Waits until it is time to stop.
pub(crate) async fn until(mut stopped: watch::Receiver<bool>) {
    drop(stopped.wait_for(|stop| *stop).await);
}

struct Told {
    terminate: Option<Signal>,
    interrupt: Option<Signal>,
}

impl Told {
    fn listen() -> Self {
        Self {
            terminate: signal(SignalKind::terminate()).ok(),
            interrupt: signal(SignalKind::interrupt()).ok(),
        }
    }

    async fn next(&mut self) {
        let wait = async |signal: &mut Option<Signal>| match signal {
            Some(signal) => drop(signal.recv().await),
            None => std::future::pending().await,
        };
        tokio::select! {
            () = wait(&mut self.terminate) => {}
            () = wait(&mut self.interrupt) => {}
        }
    }
}
