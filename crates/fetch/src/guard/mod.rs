//! The guard: which URLs are followed, and which addresses are dialled.
//!
//! ```text
//! text ──parse──▶ Checked (scheme, userinfo, port, literal address, name) ──▶ look-up ──▶ permits(each address) ──▶ dial that one
//! ```
//!
//! One parser for check and use: what was checked is handed on as a [`Checked`], and nobody else can make one. Addresses are
//! judged where they are dialled ([`Guard::permits`]), so that a name that leads somewhere else the second time changes
//! nothing. Everything that is not known to be right is refused.

mod ranges;
mod refused;

use std::net::IpAddr;

use redrive_engine::Target;
use redrive_engine::model::redact::redact;
use rustls::pki_types::DnsName;
use url::{Host, Url};

pub use refused::{MAX_URL_BYTES, Refused};

/// Names of machines' own services that tell secrets to whoever asks.
const FORBIDDEN_NAMES: &[&str] = &[
    "instance-data",
    "instance-data.ec2.internal",
    "localhost",
    "metadata",
    "metadata.azure.internal",
    "metadata.goog",
    "metadata.google.internal",
    "metadata.tencentyun.com",
];

/// What is allowed beyond the public internet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardOptions {
    /// `FETCH_ALLOW_PRIVATE`: every address and every port.
    pub allow_private: bool,
    /// `FETCH_PORTS`.
    pub ports: Vec<u16>,
}

impl Default for GuardOptions {
    fn default() -> Self {
        Self { allow_private: false, ports: vec![80, 443] }
    }
}

/// Judges URLs and addresses.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    options: GuardOptions,
}

impl Guard {
    /// A guard that allows this much.
    #[must_use]
    pub const fn new(options: GuardOptions) -> Self {
        Self { options }
    }

    /// Reads and judges a URL.
    pub fn parse(&self, text: &str) -> Result<Checked, Refused> {
        if text.len() > MAX_URL_BYTES {
            return Err(Refused::TooLong);
        }
        self.check(Url::parse(text)?, 0)
    }

    /// Reads and judges where a redirect leads.
    pub fn follow(&self, from: &Checked, location: &str) -> Result<Checked, Refused> {
        if location.len() > MAX_URL_BYTES {
            return Err(Refused::TooLong);
        }
        let to = self.check(from.url.join(location)?, from.hops.saturating_add(1))?;
        if from.is_https() && !to.is_https() {
            return Err(Refused::Downgrade);
        }
        Ok(to)
    }

    /// Whether this address may be dialled. Asked for every address of a name: one that may not refuses all.
    pub fn permits(&self, address: IpAddr) -> Result<(), Refused> {
        if self.options.allow_private || !ranges::is_forbidden(address) {
            Ok(())
        } else {
            Err(Refused::Address)
        }
    }

    fn check(&self, mut url: Url, hops: u8) -> Result<Checked, Refused> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Refused::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refused::Userinfo);
        }
        let port = url.port_or_known_default().ok_or(Refused::Scheme)?;
        if !self.options.allow_private && !self.options.ports.contains(&port) {
            return Err(Refused::Port(port));
        }
        match url.host().ok_or(Refused::Host)? {
            Host::Ipv4(address) => self.permits(address.into())?,
            Host::Ipv6(address) => self.permits(address.into())?,
            Host::Domain(name) => self.permits_name(name, url.scheme() == "https")?,
        }
        // It is not sent, and has no say in what is fetched.
        url.set_fragment(None);
        Ok(Checked { url, hops })
    }

    fn permits_name(&self, name: &str, https: bool) -> Result<(), Refused> {
        let name = name.strip_suffix('.').unwrap_or(name);
        if name.is_empty() {
            return Err(Refused::Host);
        }
        if https && DnsName::try_from(name).is_err() {
            return Err(Refused::Uncertified);
        }
        let forbidden = FORBIDDEN_NAMES.contains(&name) || name.ends_with(".localhost");
        if forbidden && !self.options.allow_private { Err(Refused::Address) } else { Ok(()) }
    }
}

/// A URL that the guard has let through. Only the guard makes one.
#[derive(Clone)]
pub struct Checked {
    url: Url,
    hops: u8,
}

/// The same URL is the same, however many redirects led there.
impl PartialEq for Checked {
    fn eq(&self, other: &Self) -> bool {
        self.url == other.url
    }
}

impl Eq for Checked {}

impl Checked {
    /// The URL itself. It may hold secrets in its query: print [`Checked::redacted`].
    #[must_use]
    pub const fn url(&self) -> &Url {
        &self.url
    }

    /// How many redirects led there.
    #[must_use]
    pub const fn hops(&self) -> u8 {
        self.hops
    }

    /// The host with its port, said or meant.
    #[must_use]
    pub fn authority(&self) -> String {
        format!("{}:{}", self.url.host_str().unwrap_or_default(), self.port())
    }

    /// Whether it is fetched through TLS.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// The port, said or meant.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or_default()
    }

    /// For people: without the values of its query.
    #[must_use]
    pub fn redacted(&self) -> String {
        redact(self.url.as_str())
    }

    /// What a breaker watches, and what politeness counts: `host:NAME:PORT`.
    #[must_use]
    pub fn target(&self) -> Option<Target> {
        target(&self.url)
    }

    /// Whether credentials for `self` may go to `other`: the same place, or the same name on https in place of http.
    #[must_use]
    pub(crate) fn trusts(&self, other: &Self) -> bool {
        let same = self.url.host() == other.url.host();
        let upgraded = !self.is_https() && other.is_https() && self.port() == 80 && other.port() == 443;
        same && (upgraded || (self.is_https() == other.is_https() && self.port() == other.port()))
    }
}

impl std::fmt::Debug for Checked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Checked({})", self.redacted())
    }
}

/// The target of a URL; none when it has no host, or one that is too long to be a name.
pub(crate) fn target(url: &Url) -> Option<Target> {
    let (host, port) = (url.host_str()?, url.port_or_known_default()?);
    Target::new(format!("host:{}:{port}", host.strip_suffix('.').unwrap_or(host))).ok()
}

#[cfg(test)]
mod tests;
