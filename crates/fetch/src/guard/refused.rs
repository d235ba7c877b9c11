//! Why a URL is not followed.

use redrive_engine::Code;
use url::ParseError;

/// Why a URL, or an address behind it, is refused. No connection was made.
///
/// The texts tell nothing about the inside of a network: not what a name leads to, and not what answers there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// It cannot be read as a URL.
    #[error("{}", unreadable(*.0))]
    Unreadable(#[from] ParseError),
    /// It is longer than anything that is meant well.
    #[error("it is longer than {MAX_URL_BYTES} bytes")]
    TooLong,
    /// Neither http nor https.
    #[error("only http and https are fetched")]
    Scheme,
    /// It carries a user name or a password. Credentials belong into headers.
    #[error("it carries a user name or a password")]
    Userinfo,
    /// It names no host.
    #[error("it names no host")]
    Host,
    /// It was read, and cannot be asked for: no request can be made of it.
    #[error("no request can be made of it")]
    Unusable,
    /// https, and a host that no certificate can be for.
    #[error("no certificate can be for a host of this name")]
    Uncertified,
    /// A redirect from https to http.
    #[error("it leads from https to http")]
    Downgrade,
    /// The port is not one of `FETCH_PORTS`.
    #[error("port {0} is not in FETCH_PORTS")]
    Port(u16),
    /// The name, or an address that it has, is one that is never dialled.
    #[error("the address is not allowed: it is not public, and FETCH_ALLOW_PRIVATE is not set")]
    Address,
}

/// What whoever wrote it can do, where that is known.
fn unreadable(why: ParseError) -> String {
    match why {
        ParseError::RelativeUrlWithoutBase => "it does not begin with http:// or https://".into(),
        why => format!("it cannot be read as a URL: {why}"),
    }
}

/// Longest URL, in bytes.
pub const MAX_URL_BYTES: usize = 8_192;

impl Refused {
    /// The registry code.
    #[must_use]
    pub const fn code(self) -> Code {
        match self {
            Self::Unreadable(_)
            | Self::TooLong
            | Self::Scheme
            | Self::Userinfo
            | Self::Host
            | Self::Unusable
            | Self::Uncertified
            | Self::Downgrade => Code::DownloadInvalidUrl,
            Self::Port(_) | Self::Address => Code::DownloadBlockedAddress,
        }
    }
}
