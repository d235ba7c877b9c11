//! How much of an origin is borne.

use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;

use crate::dns::Lookup;
use crate::guard::GuardOptions;
use crate::proxy::Pools;

/// Limits of a download, and what it may reach.
#[derive(Debug, Clone)]
pub struct DownloadOptions {
    /// Which URLs and addresses are allowed.
    pub guard: GuardOptions,
    /// Who looks names up; the machine's name servers unless said.
    pub names: Option<Arc<dyn Lookup>>,
    /// Proxies that resources may ask for.
    pub pools: Arc<Pools>,
    /// Certificates that are trusted beside the machine's own.
    pub roots: Vec<CertificateDer<'static>>,
    /// Each step to a connection: the look-up, the call, a proxy's answer, the handshake.
    pub connect_timeout: Duration,
    /// From the request to the head of the answer, for each hop.
    pub answer_timeout: Duration,
    /// All of one attempt, to the last byte.
    pub deadline: Duration,
    /// Slower than so many bytes a second, over [`DownloadOptions::slow_after`], is too slow; 0 bears everything.
    pub min_speed: u64,
    /// The time over which speed is judged.
    pub slow_after: Duration,
    /// The largest body.
    pub max_bytes: u64,
    /// A download that broke off is kept for the next attempt from so many bytes on; below that it simply starts over.
    pub keep_from: u64,
    /// A large download is noted every so many bytes, so that a worker that dies does not cost all of it.
    pub note_every: u64,
    /// Idle connections that are kept per host.
    pub idle_per_host: usize,
}

impl Default for DownloadOptions {
    fn default() -> Self {
        Self {
            guard: GuardOptions::default(),
            names: None,
            pools: Arc::default(),
            roots: Vec::new(),
            connect_timeout: Duration::from_secs(10),
            answer_timeout: Duration::from_secs(30),
            deadline: Duration::from_secs(3600),
            min_speed: 1_024,
            slow_after: Duration::from_secs(15),
            max_bytes: 5 << 30,
            keep_from: 1 << 20,
            note_every: 64 << 20,
            idle_per_host: 64,
        }
    }
}
