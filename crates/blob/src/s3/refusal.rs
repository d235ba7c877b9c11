//! Answers of a bucket that are no success, and what they mean to us.

use std::time::Duration;

use bytes::Bytes;
use object_store::client::{HttpError, HttpErrorKind};
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

use crate::error::{Act, BlobError, Place};
use crate::key::Key;

/// An answer that is no success.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("status {status}{}", code.as_deref().map(|code| format!(", {code}")).unwrap_or_default())]
pub(super) struct Refusal {
    pub(super) status: u16,
    /// The `Code` of the error document, where there was one.
    pub(super) code: Option<String>,
    pub(super) retry_after: Option<Duration>,
}

/// A failed call: the condition was not met, or an error.
#[derive(Debug)]
pub(crate) enum Failed {
    /// 412: something is there already, or is not what it was.
    Condition,
    /// Everything else.
    Error(BlobError),
}

impl From<Failed> for BlobError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Error(error) => error,
            Failed::Condition => Self::Unavailable {
                act: Act::Put,
                timeout: false,
                retry_after: None,
                reason: "a condition was not met that nobody set".to_owned(),
            },
        }
    }
}

impl Refusal {
    pub(super) fn new(status: u16, headers: &HeaderMap, body: &Bytes) -> Self {
        let text = String::from_utf8_lossy(body);
        let code = text.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>"));
        let code = code.map(|(code, _)| code.trim().chars().take(64).collect());
        Self { status, code, retry_after: retry_after(headers) }
    }

    pub(super) fn means(&self, act: Act, key: Option<&Key>) -> Failed {
        let code = self.code.as_deref().unwrap_or_default();
        let unavailable = |timeout| BlobError::Unavailable {
            act,
            timeout,
            retry_after: self.retry_after,
            reason: self.to_string(),
        };
        let denied = || BlobError::Denied { act, place: Place::Bucket, reason: self.to_string() };
        Failed::Error(match (self.status, code) {
            (_, "NoSuchBucket") => BlobError::NoBucket,
            (412, _) => return Failed::Condition,
            (429, _) | (_, "SlowDown" | "TooManyRequests" | "RequestLimitExceeded" | "Throttling") => {
                BlobError::Throttled { retry_after: self.retry_after }
            }
            (507, _) | (_, "QuotaExceeded" | "XMinioStorageFull" | "InsufficientStorage") => {
                BlobError::BucketFull { reason: self.to_string() }
            }
            (416, _) => BlobError::Range { bytes: 0 },
            (408, _) | (_, "RequestTimeout") => unavailable(true),
            // An upload that somebody aborted, or a race that the store could not decide: make it again.
            (_, "NoSuchUpload" | "InternalError") | (409, _) => unavailable(false),
            (_, "BadDigest" | "XAmzContentSHA256Mismatch" | "InvalidDigest") => match key {
                Some(key) => BlobError::Corrupt { key: key.clone(), act, reason: self.to_string() },
                None => unavailable(false),
            },
            (404, _) => match key {
                Some(key) => BlobError::NotFound { key: key.clone() },
                None => unavailable(false),
            },
            // A store that has begun to answer says the rest in the body of a 200.
            (300..=499 | 501, _) | (_, "AccessDenied") => denied(),
            _ => unavailable(false),
        })
    }
}

/// `Retry-After` in seconds or as a date. A date counts from the answer's own `Date`: no clock of ours takes part.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(Duration::from_secs(seconds.into()));
    }
    let date = |text: &str| jiff::fmt::rfc2822::parse(text).ok().map(|at| at.timestamp());
    let (until, now) = (date(text)?, date(headers.get(DATE)?.to_str().ok()?)?);
    Some(redrive_model::instant::between(now, until))
}

/// What an error of the client means. `key` is what the call was about.
pub(super) fn failed(act: Act, key: Option<&Key>, error: object_store::Error) -> Failed {
    if let Some(refusal) = find::<Refusal>(&error) {
        return refusal.means(act, key);
    }
    let timeout = find::<HttpError>(&error).is_some_and(|error| error.kind() == HttpErrorKind::Timeout);
    use object_store::Error as E;
    Failed::Error(match (error, key) {
        (E::AlreadyExists { .. } | E::Precondition { .. }, _) => return Failed::Condition,
        (E::NotFound { .. }, Some(key)) => BlobError::NotFound { key: key.clone() },
        (E::PermissionDenied { .. } | E::Unauthenticated { .. }, _) => {
            BlobError::Denied { act, place: Place::Bucket, reason: "no usable credentials".to_owned() }
        }
        // The client's own text may hold the URL; the chain of causes says what happened without it.
        (error, _) => BlobError::Unavailable { act, timeout, retry_after: None, reason: root_cause(&error) },
    })
}

/// The first error of a type in a chain of causes.
fn find<'a, T: std::error::Error + 'static>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<T>() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// The innermost cause.
pub(super) fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut last = error;
    while let Some(next) = last.source() {
        last = next;
    }
    last.to_string()
}

#[cfg(test)]
mod tests {
    use redrive_model::Code;
    use reqwest::header::HeaderValue;

    use super::*;

    pub(super) fn means(status: u16, code: &str, act: Act) -> Option<Code> {
        let code = Some(code.to_owned()).filter(|code| !code.is_empty());
        let key = Key::parse("a").unwrap();
        match (Refusal { status, code, retry_after: None }).means(act, Some(&key)) {
            Failed::Condition => None,
            Failed::Error(error) => Some(error.code()),
        }
    }

    #[test]
    fn refusals_of_a_bucket_are_told_apart() {
        for (status, code, expected) in [
            (404, "NoSuchBucket", Some(Code::UploadNoBucket)),
            (404, "NoSuchKey", Some(Code::SourceMissing)),
            (404, "", Some(Code::SourceMissing)),
            (404, "NoSuchUpload", Some(Code::UploadS3Error)),
            (412, "PreconditionFailed", None),
            (409, "ConditionalRequestConflict", Some(Code::UploadS3Error)),
            (503, "SlowDown", Some(Code::UploadThrottled)),
            (200, "SlowDown", Some(Code::UploadThrottled)),
            (200, "InternalError", Some(Code::UploadS3Error)),
            (200, "AccessDenied", Some(Code::UploadAccessDenied)),
            (429, "", Some(Code::UploadThrottled)),
            (503, "ServiceUnavailable", Some(Code::UploadS3Error)),
            (500, "InternalError", Some(Code::UploadS3Error)),
            (400, "RequestTimeout", Some(Code::UploadTimeout)),
            (400, "BadDigest", Some(Code::UploadChecksum)),
            (400, "InvalidArgument", Some(Code::UploadAccessDenied)),
            (403, "AccessDenied", Some(Code::UploadAccessDenied)),
            (403, "QuotaExceeded", Some(Code::UploadThrottled)),
            (507, "", Some(Code::UploadThrottled)),
            (301, "PermanentRedirect", Some(Code::UploadAccessDenied)),
            (501, "NotImplemented", Some(Code::UploadAccessDenied)),
        ] {
            assert_eq!(means(status, code, Act::Put), expected, "{status} {code}");
        }
        assert_eq!(means(403, "AccessDenied", Act::Read), Some(Code::StorageAccessDenied));
        assert_eq!(means(500, "", Act::List), Some(Code::StorageUnavailable));
    }

    #[test]
    fn retry_after_is_read_in_both_forms_and_garbage_is_none() {
        let read = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(DATE, HeaderValue::from_static("Mon, 16 Nov 2026 08:00:00 GMT"));
            headers.insert(RETRY_AFTER, HeaderValue::from_static(value));
            retry_after(&headers)
        };
        assert_eq!(read("7"), Some(Duration::from_secs(7)));
        assert_eq!(read("Mon, 16 Nov 2026 08:02:00 GMT"), Some(Duration::from_secs(120)));
        assert_eq!(read("Mon, 16 Nov 2026 07:00:00 GMT"), Some(Duration::ZERO));
        assert_eq!(read("-1"), None);
        assert_eq!(read("soon"), None);
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }

    #[test]
    fn the_code_of_an_error_document_is_found() {
        let body = Bytes::from_static(b"<?xml?><Error><Code>SlowDown</Code><Message>x</Message></Error>");
        assert_eq!(Refusal::new(503, &HeaderMap::new(), &body).code.as_deref(), Some("SlowDown"));
        assert_eq!(Refusal::new(503, &HeaderMap::new(), &Bytes::from_static(b"\xff<Code>")).code, None);
    }
}
