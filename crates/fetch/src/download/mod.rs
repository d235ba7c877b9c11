//! From a URL to a sealed upload, or to a failure with a name.
//!
//! ```text
//! hops.rs     the question, and redirects by hand       dial.rs   the one place that opens a socket, wire.rs its TLS
//! head.rs     what an answer says of itself             body.rs   its bytes into the upload, pace.rs how fast
//! attempt.rs  one attempt: a break is mended once, what came so far is kept for the next one
//! trouble.rs  what went wrong, as types
//! ```
//!
//! One client for all; connections are kept per scheme, host and port. HTTP/1.1 alone: its limits are few and known. No proxy of
//! the environment is used. Nothing here retries but for one thing, which is part of one attempt: when the connection breaks, the same
//! question is asked once more on another one, for the rest where a strong validator says what the rest is of.

mod attempt;
mod body;
mod dial;
mod head;
mod hops;
mod note;
mod options;
mod pace;
mod trouble;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use redrive_blob::Sha256;

pub(crate) use attempt::{Broken, Fetched};
pub(crate) use head::Head;
pub(crate) use note::{Note, Notes};
pub use options::DownloadOptions;
pub(crate) use trouble::{Suspect, Trouble};

use crate::dns::{LookupError, Resolver};
use crate::guard::Guard;
use dial::Dial;

/// The head of an answer is at most this large.
const HEAD_BYTES: usize = 64 << 10;
/// And has at most so many fields.
const HEAD_FIELDS: usize = 256;
/// An idle connection is kept so long: shorter than most servers keep theirs.
const IDLE: Duration = Duration::from_secs(15);

/// Why there can be no downloads.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// TLS could not be set up.
    #[error("no TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// Names cannot be looked up.
    #[error("no name servers: {0}")]
    Names(#[from] LookupError),
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) url: &'a str,
    pub(crate) headers: &'a [(String, String)],
    pub(crate) sha256: Option<Sha256>,
    /// The pool whose proxies are used, and whose turn it is.
    pub(crate) pool: Option<(&'a str, u64)>,
}

impl Ask<'_> {
    fn header_map(&self) -> Result<HeaderMap, Trouble> {
        let mut map = HeaderMap::with_capacity(self.headers.len() + 4);
        for (name, value) in self.headers {
            let unusable = || Trouble::Invalid(format!("the header {name:?} cannot be sent"));
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unusable())?;
            let mut value = HeaderValue::from_str(value).map_err(|_| unusable())?;
            value.set_sensitive(true);
            map.insert(name, value);
        }
        Ok(map)
    }
}

type Http = Client<Dial, Empty<Bytes>>;

/// The client of all downloads. Cheap to clone.
#[derive(Clone)]
pub struct Downloads(Arc<Inner>);

struct Inner {
    guard: Guard,
    direct: Http,
    /// One client per proxy, so that no connection is shared between two ways.
    through: Vec<Http>,
    options: DownloadOptions,
}

impl Downloads {
    /// Sets everything up. Nothing is called yet.
    pub fn new(mut options: DownloadOptions) -> Result<Self, SetupError> {
        let guard = Guard::new(options.guard.clone());
        let names = match options.names.take() {
            Some(names) => names,
            None => Arc::new(Resolver::system()?),
        };
        let tls = wire::tls(std::mem::take(&mut options.roots))?;
        let dial = Dial::new(guard.clone(), names, tls, options.connect_timeout);
        let through =
            options.pools.members().iter().map(|member| client(dial.through(member), &options)).collect();
        let direct = client(dial, &options);
        Ok(Self(Arc::new(Inner { guard, direct, through, options })))
    }

    /// The guard that judges its URLs, for doors that judge them earlier.
    #[must_use]
    pub fn guard(&self) -> &Guard {
        &self.0.guard
    }

    /// Its limits.
    #[must_use]
    pub fn options(&self) -> &DownloadOptions {
        &self.0.options
    }
}

fn client(dial: Dial, options: &DownloadOptions) -> Http {
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(options.idle_per_host)
        .http1_max_buf_size(HEAD_BYTES)
        .http1_max_headers(HEAD_FIELDS)
        .build(dial)
}

impl std::fmt::Debug for Downloads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Downloads").field("guard", &self.0.guard).finish_non_exhaustive()
    }
}
