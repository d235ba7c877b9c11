//! How a finished call counts for the target it is blamed on: the one table from failure codes to breakers.
//!
//! Only 5xx, timeouts and connection failures speak against a target. An answer that is no success, such as a 404, proves that
//! the target is there: enough for a probe and for a ramp.

use serde::{Deserialize, Serialize};

use crate::failure::Code;

/// How a finished call to the target counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// The target did its work.
    Success,
    /// The target answered, and what is wrong is wrong with this one job: 4xx, a download that is too large or too slow.
    Answered,
    /// The target answered with a server error.
    ServerError,
    /// No connection, or no answer in time.
    Unreachable,
    /// The target asked for time: 429, or a 503 that says how long. Says nothing about its health, but many of the latter
    /// hold it.
    Busy,
    /// Says nothing about the target: cancelled, or a fault of our own.
    Neutral,
}

impl Call {
    /// How an attempt that failed with this code counts for the target it is blamed on.
    #[must_use]
    pub const fn of(code: Code) -> Self {
        match code {
            Code::GwTimeout
            | Code::GwUnavailable
            | Code::DownloadTimeout
            | Code::DownloadConnect
            | Code::DownloadDns
            | Code::UploadTimeout
            | Code::StorageUnavailable
            | Code::MailUnavailable
            | Code::TargetUnreachable => Self::Unreachable,
            Code::Gw5xx
            | Code::GwTruncated
            | Code::GwBadResponse
            | Code::DownloadHttp5xx
            | Code::DownloadBadResponse
            | Code::DownloadTruncated
            | Code::UploadS3Error
            | Code::TargetError => Self::ServerError,
            Code::GwBusy
            | Code::GwThrottled
            | Code::DownloadBusy
            | Code::DownloadRateLimited
            | Code::UploadThrottled
            | Code::TargetBusy
            | Code::TargetThrottled => Self::Busy,
            Code::Gw4xx
            | Code::MailRefused
            | Code::MailAuth
            | Code::MailTls
            | Code::GwRequestTimeout
            | Code::GwResponseTooLarge
            | Code::GwUnauthorized
            | Code::InvalidMapping
            | Code::ParseError
            | Code::ValidationError
            | Code::GwPasswordRequired
            | Code::GwUnsupportedEncryption
            | Code::GwTooManyPages
            | Code::GwLimitExceeded
            | Code::DownloadHttp4xx
            | Code::DownloadHttp4xxTransient
            | Code::DownloadHttp5xxPermanent
            | Code::DownloadTls
            | Code::DownloadTooLarge
            | Code::DownloadTooSlow
            | Code::DownloadChecksum
            | Code::DownloadRedirectLoop
            | Code::UploadAccessDenied
            | Code::UploadNoBucket
            | Code::UploadConflict
            | Code::UploadChecksum
            | Code::StorageAccessDenied
            // Nobody has the name: the answer came from who knows it, and no job is helped by waiting.
            | Code::DownloadDnsNxdomain => Self::Answered,
            // One proxy is not its pool: the next one has its turn, and a pool without any says so by asking for time.
            Code::DownloadProxyFailed | Code::DownloadProxyExhausted => Self::Neutral,
            // Faults of our own, of the job, or of the request.
            Code::NotPdf
            | Code::TooLarge
            | Code::IoError
            | Code::NotReady
            | Code::Expired
            | Code::Forbidden
            | Code::Unknown
            | Code::GwBreakerOpen
            | Code::MemoryError
            | Code::DiskFull
            | Code::SourceMissing
            | Code::SourceChanged
            | Code::Cancelled
            | Code::ResultCorrupt
            | Code::DownloadBlockedAddress
            | Code::DownloadInvalidUrl
            | Code::StorageManifestMissing
            | Code::StorageManifestInvalid
            | Code::HandlerFailed
            | Code::HandlerRefused
            | Code::HandlerTimeout
            | Code::SystemPanic
            | Code::SystemTimeout
            | Code::SystemWorkerLost
            | Code::SystemLeaseLost
            | Code::SystemInterrupted
            | Code::SystemQuarantined
            | Code::SystemUndecodable
            | Code::SystemDeadline
            | Code::SystemThrottledTooLong
            | Code::SystemBreakerOpen
            | Code::SystemGivenUp
            | Code::SystemUnavailable
            | Code::SystemInternal
            | Code::AnswerTimeout
            | Code::ValidationMissingField
            | Code::ValidationInvalidField
            | Code::ValidationUnknownField
            | Code::ValidationMalformed
            | Code::ValidationTooLarge
            | Code::ValidationTooMany
            | Code::ValidationDuplicateId
            | Code::ValidationUnknownMapping
            | Code::ValidationUnsupportedVersion
            | Code::ValidationDestination
            | Code::ValidationCursor
            | Code::ValidationFilterRequired
            | Code::AuthRequired
            | Code::AuthScope
            | Code::AuthCrossSite
            | Code::NotFound
            | Code::MethodNotAllowed
            | Code::UnsupportedMediaType
            | Code::ConflictState
            | Code::ConflictDuplicate
            | Code::IdempotencyMismatch
            | Code::IdempotencyInFlight
            | Code::RateLimited
            | Code::Overloaded
            | Code::RequestTimeout
            | Code::EventsGone => Self::Neutral,
        }
    }

    /// Whether it speaks against the target.
    #[must_use]
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::ServerError | Self::Unreachable)
    }
}
