//! Why a URL is not followed.

use redrive_engine::Code;

/// Why a URL, or an address behind it, is refused. No connection was made.
///
/// The texts tell nothing about the inside of a network: not what a name leads to, and not what answers there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// It cannot be read as a URL.
    #[error("it cannot be read as a URL: {0}")]
    Unreadable(#[from] url::ParseError),
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
    /// A redirect from https to http.
    #[error("it leads from https to http")]
    Downgrade,
    /// The port is not one of `FETCH_PORTS`.
    #[error("port {0} is not allowed")]
    Port(u16),
    /// The name, or an address that it has, is one that is never dialled.
    #[error("the address is not allowed")]
    Address,
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
            | Self::Downgrade => Code::DownloadInvalidUrl,
            Self::Port(_) | Self::Address => Code::DownloadBlockedAddress,
        }
    }
}
