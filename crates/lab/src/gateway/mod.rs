//! A gateway that misbehaves on demand: it speaks the contract of `docs/gateway.md` on a real socket, and breaks it where a
//! script says so.
//!
//! Without a script it is right: a small XML document that names the hash of the file it was made from, so that a result that
//! belongs to another file, or that was made twice, can be told from outside.
//!
//! ```text
//! request.rs   what came in: head, form, file
//! script.rs    which calls get which answers
//! answer.rs    the answers, right and wrong
//! wire.rs      how each of them goes over the wire
//! log.rs       who called when, with what, and how many at once
//! ```

mod answer;
mod log;
mod request;
mod script;
mod wire;

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use answer::{Answer, right_answer};
pub use log::Call;
pub use request::sha256;
pub use script::Which;

use log::Log;
use script::Script;

/// What a gateway of the contract tells of itself.
const MAPPINGS: &str =
    r#"[{"name":"text","title":"Text","schema":null},{"name":"alto","title":"ALTO","schema":null}]"#;

/// The gateway. Dropping it ends it.
#[derive(Debug)]
pub struct Gateway {
    address: SocketAddr,
    state: Arc<State>,
    listening: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct State {
    script: Mutex<Script>,
    mappings: Mutex<Option<String>>,
    log: Log,
    /// Raised when those who wait for an answer may have it.
    let_go: watch::Sender<u64>,
    /// Raised when the gateway goes down: connections of an older number end.
    down: watch::Sender<u64>,
}

impl Gateway {
    /// One on a free loopback port that does everything right.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let state = Arc::new(State {
            script: Mutex::default(),
            mappings: Mutex::new(Some(MAPPINGS.to_owned())),
            log: Log::default(),
            let_go: watch::Sender::new(0),
            down: watch::Sender::new(0),
        });
        let gateway = Self { address: listener.local_addr()?, state, listening: Mutex::default() };
        gateway.listen(listener);
        Ok(gateway)
    }

    /// What `GATEWAY_URL` is to be.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Calls of this kind get these answers in turn, and the last one for ever. What was said about the same kind before is
    /// forgotten; what was said last wins.
    pub fn say(&self, which: Which, answers: impl IntoIterator<Item = Answer>) {
        lock(&self.state.script).say(which, answers.into_iter().collect());
    }

    /// Everything is answered right again; calls that wait stay where they are.
    pub fn behave(&self) {
        *lock(&self.state.script) = Script::default();
    }

    /// What it says of its mappings: this JSON, or 503.
    pub fn list(&self, mappings: Option<&str>) {
        *lock(&self.state.mappings) = mappings.map(str::to_owned);
    }

    /// Everybody who waits in [`Answer::Silence`] or [`Answer::Stall`] gets the right answer now, or the rest of it.
    pub fn let_go(&self) {
        self.state.let_go.send_modify(|n| *n += 1);
    }

    /// Nobody is there any more: connections end, new ones are refused.
    pub fn down(&self) {
        if let Some(listening) = lock(&self.listening).take() {
            listening.abort();
        }
        self.state.down.send_modify(|n| *n += 1);
    }

    /// Back, on the same port.
    pub async fn up(&self) -> io::Result<()> {
        if lock(&self.listening).is_some() {
            return Ok(());
        }
        let mut tries = 0;
        let listener = loop {
            match TcpListener::bind(self.address).await {
                Ok(listener) => break listener,
                Err(error) if tries == 200 => return Err(error),
                // The old listener may take a moment to go.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
            tries += 1;
        };
        self.listen(listener);
        Ok(())
    }

    /// All calls of `/process` so far, in the order in which their files were read.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.state.log.calls()
    }

    /// The calls for the file with this hash.
    #[must_use]
    pub fn calls_of(&self, sha256: &str) -> Vec<Call> {
        self.calls().into_iter().filter(|call| call.sha256 == sha256).collect()
    }

    /// The most calls that were answered at the same time since [`Gateway::count_anew`].
    #[must_use]
    pub fn most_at_once(&self) -> usize {
        self.state.log.most()
    }

    /// Forgets how many there were at once.
    pub fn count_anew(&self) {
        self.state.log.count_anew();
    }

    fn listen(&self, listener: TcpListener) {
        let state = Arc::clone(&self.state);
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(until_down(stream, Arc::clone(&state)));
            }
        });
        *lock(&self.listening) = Some(accepting);
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.down();
    }
}

async fn until_down(stream: TcpStream, state: Arc<State>) {
    let mut down = state.down.subscribe();
    down.mark_unchanged();
    tokio::select! {
        _ = down.changed() => {}
        _ = wire::serve(stream, &state) => {}
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
