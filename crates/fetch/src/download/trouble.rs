//! What can go wrong on the way from a URL to a sealed upload, as types.
//!
//! Told from the chain of errors below, never from their words; `failure.rs` gives each its registry code.

use std::error::Error;
use std::io;
use std::time::Duration;

use hyper_util::client::legacy;
use redrive_blob::{BlobError, Sha256};
use redrive_engine::Failure;
use redrive_engine::model::Class;

use super::dial::DialError;
use crate::dns::LookupError;
use crate::failure::of_status;
use crate::guard::Refused;

/// One thing that went wrong.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    #[error("{0}")]
    Refused(Refused),
    /// Something in the resource itself that a door should not have let in.
    #[error("{0}")]
    Invalid(String),
    #[error("{0}")]
    Name(LookupError),
    /// No connection, whatever the reason: the outside is not told an open port from a closed one.
    #[error("no connection")]
    Unreached,
    /// The proxy was at fault.
    #[error("{0}")]
    Proxy(String),
    /// The proxy took the call and said nothing more.
    #[error("the proxy did not answer")]
    ProxySilent,
    /// The proxy does not let us reach this host.
    #[error("the proxy refuses this host with {0}")]
    ProxyForbids(u16),
    /// The proxy was not, and the other side could not be reached from there.
    #[error("no connection from the proxy")]
    ProxyUnreached,
    #[error("no proxy of the pool works")]
    Exhausted(Duration),
    #[error("the certificate or the encryption is not acceptable: {0}")]
    Tls(io::Error),
    /// The same through a proxy, which may be the one that showed it. Another proxy can tell.
    #[error("the certificate or the encryption that came through the proxy is not acceptable: {0}")]
    ProxyTls(io::Error),
    /// The connection ended before there was a head.
    #[error("the connection ended without an answer")]
    Hung,
    #[error("no answer within {} ms", .0.as_millis())]
    Silent(Duration),
    #[error("not whole within {} ms", .0.as_millis())]
    Deadline(Duration),
    #[error("less than {0} bytes a second")]
    TooSlow(u64),
    #[error("the head of the answer is too large")]
    HeadTooLarge,
    #[error("{0}")]
    BadAnswer(&'static str),
    #[error("status {status}")]
    Status { status: u16, retry_after: Option<Duration> },
    #[error("more than {0} redirects")]
    Redirects(usize),
    #[error("redirects form a loop")]
    Circle,
    #[error("it broke off after {got} bytes{}", of_all(.of))]
    Cut { got: u64, of: Option<u64> },
    /// The parts of a download that was gone on with make something else than what was expected.
    #[error("the parts do not fit together")]
    Misfit,
    #[error("more than {0} bytes")]
    TooLarge(u64),
    #[error("its SHA-256 is {0}")]
    Checksum(Sha256),
    #[error("{0}")]
    Store(BlobError),
    /// The attempt was told to end, or may not go on.
    #[error("{0}")]
    Stopped(Failure),
}

/// Who may be at fault when something went wrong through a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suspect {
    /// The proxy itself.
    Proxy,
    /// The proxy, the origin, or the two together: only other hosts and other proxies can tell.
    Pair,
    /// The origin: it was heard, so the proxy does its part.
    Origin,
    /// Neither of them was heard.
    Nobody,
}

impl Trouble {
    /// Whether the connection was at fault and nothing was said: one more try on a new one is part of the same attempt.
    pub(crate) const fn is_broken_wire(&self) -> bool {
        matches!(self, Self::Hung | Self::Cut { .. })
    }

    /// What it says about a proxy that it happened through.
    pub(crate) const fn suspect(&self) -> Suspect {
        match self {
            Self::Proxy(_) => Suspect::Proxy,
            Self::ProxySilent
            | Self::ProxyForbids(_)
            | Self::ProxyUnreached
            | Self::Unreached
            | Self::Tls(_)
            | Self::ProxyTls(_)
            | Self::Hung
            | Self::Silent(_)
            | Self::Deadline(_)
            | Self::TooSlow(_)
            | Self::Cut { .. } => Suspect::Pair,
            Self::Refused(_) | Self::Invalid(_) | Self::Name(_) | Self::Exhausted(_) | Self::Stopped(_) => {
                Suspect::Nobody
            }
            Self::HeadTooLarge
            | Self::BadAnswer(_)
            | Self::Status { .. }
            | Self::Redirects(_)
            | Self::Circle
            | Self::Misfit
            | Self::TooLarge(_)
            | Self::Checksum(_)
            | Self::Store(_) => Suspect::Origin,
        }
    }

    /// Whether what has come so far may be gone on with.
    pub(crate) fn keeps(&self) -> bool {
        match self {
            Self::Name(_)
            | Self::Unreached
            | Self::Proxy(_)
            | Self::ProxySilent
            | Self::ProxyForbids(_)
            | Self::ProxyUnreached
            | Self::ProxyTls(_)
            | Self::Exhausted(_)
            | Self::Hung
            | Self::Silent(_)
            | Self::Deadline(_)
            | Self::TooSlow(_)
            | Self::BadAnswer(_)
            | Self::Cut { .. }
            | Self::Stopped(_) => true,
            Self::Status { status, .. } => !matches!(of_status(*status, false).class(), Class::Permanent),
            Self::Refused(_)
            | Self::Invalid(_)
            | Self::Tls(_)
            | Self::HeadTooLarge
            | Self::Redirects(_)
            | Self::Circle
            | Self::Misfit
            | Self::TooLarge(_)
            | Self::Checksum(_)
            | Self::Store(_) => false,
        }
    }
}

impl From<DialError> for Trouble {
    fn from(error: DialError) -> Self {
        match error {
            DialError::Refused(refused) => Self::Refused(refused),
            DialError::Name(error) => Self::Name(error),
            DialError::Tls(error) => Self::Tls(error),
            DialError::Unreached(error) => {
                tracing::debug!(event = "fetch.unreached", "{error}");
                Self::Unreached
            }
            DialError::TooSlow => Self::Unreached,
            DialError::Proxy(reason) => Self::Proxy(reason),
            DialError::ProxySilent => Self::ProxySilent,
            DialError::ProxyForbids(status) => Self::ProxyForbids(status),
            DialError::ProxyUnreached(_) => Self::ProxyUnreached,
        }
    }
}

/// Of a request that brought no head.
pub(crate) fn of_request(error: legacy::Error) -> Trouble {
    if error.is_connect() {
        return match find::<DialError>(&error) {
            Some(dial) => dial.again().into(),
            None => Trouble::Unreached,
        };
    }
    match find::<hyper::Error>(&error) {
        Some(error) if error.is_parse_too_large() => Trouble::HeadTooLarge,
        Some(error) if error.is_parse() => Trouble::BadAnswer("the answer is no HTTP"),
        Some(_) | None => Trouble::Hung,
    }
}

/// The first error of this type in the chain.
fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

fn of_all(total: &Option<u64>) -> String {
    total.map(|total| format!(" of {total}")).unwrap_or_default()
}
