//! An origin that misbehaves on demand: an HTTP/1.1 server at the level of the socket, with a script per path.
//!
//! Without a script it is right: every path has bytes of its own, a strong ETag, and ranges as HTTP has them. It counts who asked for what
//! and when, so that a test can say that nobody asked twice, or too early.
//!
//! ```text
//! answer.rs    the answers, right and wrong        wire.rs   how each of them goes over the wire
//! request.rs   what was asked                      tls.rs    the same behind a certificate that nobody trusts unless told
//! ```

mod answer;
mod request;
mod tls;
mod wire;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

pub use answer::{Answer, body_of};
pub use request::Request;
pub use tls::certificate;

/// The origin. Dropping it ends it.
#[derive(Debug)]
pub struct Origin {
    address: SocketAddr,
    scheme: &'static str,
    state: Arc<State>,
    listening: JoinHandle<()>,
}

/// One request as it was heard.
#[derive(Debug, Clone)]
pub struct Heard {
    /// What was asked.
    pub request: Request,
    /// When.
    pub at: Instant,
}

#[derive(Debug, Default)]
struct State {
    script: Mutex<HashMap<String, VecDeque<Answer>>>,
    heard: Mutex<Vec<Heard>>,
    connections: Mutex<usize>,
    at_once: Mutex<AtOnce>,
    away: AtomicBool,
}

/// Requests that are being answered.
#[derive(Debug, Default)]
struct AtOnce {
    now: usize,
    most: usize,
}

/// One of them, until it is dropped.
struct Answering<'a>(&'a State);

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        lock(&self.0.at_once).now -= 1;
    }
}

impl Origin {
    /// One on a free loopback port that does everything right.
    pub async fn start() -> io::Result<Self> {
        Self::listen("http", None).await
    }

    /// The same behind TLS, with [`certificate`] for `localhost`, `origin.test` and `127.0.0.1`.
    pub async fn start_tls() -> io::Result<Self> {
        Self::listen("https", Some(tls::acceptor().map_err(io::Error::other)?)).await
    }

    /// Somebody who stands in for such an origin, with a certificate that nobody trusts: as a proxy does that looks into what it carries.
    pub async fn start_impostor() -> io::Result<Self> {
        Self::listen("https", Some(tls::impostor().map_err(io::Error::other)?)).await
    }

    async fn listen(scheme: &'static str, tls: Option<tokio_rustls::TlsAcceptor>) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let (address, state) = (listener.local_addr()?, Arc::new(State::default()));
        let listening = tokio::spawn(accept(listener, state.clone(), tls));
        Ok(Self { address, scheme, state, listening })
    }

    /// Where it is.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a path.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.address)
    }

    /// Requests for this path get these answers in turn, and the last one for ever.
    pub fn say(&self, path: &str, answers: impl IntoIterator<Item = Answer>) {
        lock(&self.state.script).insert(path.to_owned(), answers.into_iter().collect());
    }

    /// Requests for this path get these answers in turn, and then the right one.
    pub fn once(&self, path: &str, answers: impl IntoIterator<Item = Answer>) {
        self.say(path, answers.into_iter().chain([Answer::Right]));
    }

    /// Everything that was asked for this path.
    #[must_use]
    pub fn heard(&self, path: &str) -> Vec<Heard> {
        lock(&self.state.heard).iter().filter(|heard| heard.request.path == path).cloned().collect()
    }

    /// Everything that was asked.
    #[must_use]
    pub fn all(&self) -> Vec<Heard> {
        lock(&self.state.heard).clone()
    }

    /// How often this path was asked for.
    #[must_use]
    pub fn count(&self, path: &str) -> usize {
        self.heard(path).len()
    }

    /// How many requests there were.
    #[must_use]
    pub fn requests(&self) -> usize {
        lock(&self.state.heard).len()
    }

    /// How many requests were answered at the same time at most, since the last one who asked this.
    #[must_use]
    pub fn most_at_once(&self) -> usize {
        let mut at_once = lock(&self.state.at_once);
        let now = at_once.now;
        std::mem::replace(&mut at_once.most, now)
    }

    /// From now on every call ends at once, or, with `false`, none does.
    pub fn away(&self, away: bool) {
        self.state.away.store(away, Ordering::SeqCst);
    }

    /// How many connections there were.
    #[must_use]
    pub fn connections(&self) -> usize {
        *lock(&self.state.connections)
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl State {
    fn answering(&self) -> Answering<'_> {
        let mut at_once = lock(&self.at_once);
        at_once.now += 1;
        at_once.most = at_once.most.max(at_once.now);
        Answering(self)
    }

    fn next(&self, path: &str) -> Answer {
        let mut script = lock(&self.script);
        let said = script.get_mut(path).and_then(|answers| match answers.len() {
            0 | 1 => answers.front().cloned(),
            _ => answers.pop_front(),
        });
        said.unwrap_or(Answer::Right)
    }
}

async fn accept(listener: TcpListener, state: Arc<State>, tls: Option<tokio_rustls::TlsAcceptor>) {
    let mut open = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        *lock(&state.connections) += 1;
        if state.away.load(Ordering::SeqCst) {
            continue;
        }
        let (state, tls) = (state.clone(), tls.clone());
        open.spawn(async move {
            let _ = match tls {
                None => wire::serve(stream, &state).await,
                Some(tls) => match tls.accept(stream).await {
                    Ok(stream) => wire::serve(stream, &state).await,
                    Err(error) => Err(error),
                },
            };
        });
        while open.try_join_next().is_some() {}
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
