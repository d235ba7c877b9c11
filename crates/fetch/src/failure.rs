//! What each trouble is called: the one table from types to registry codes.
//!
//! A message begins with the redacted URL and says what happened; what an origin wrote in its body is never in it. The context has
//! `attempt`, `proxy` and `status`, also where there is none.

use redrive_blob::BlobError;
use redrive_engine::{Code, Failure, Target};
use serde_json::Value;

use crate::dns::LookupError;
use crate::download::{Broken, Trouble};
use crate::proxy;

impl Trouble {
    /// The registry code.
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Refused(refused) => refused.code(),
            Self::Invalid(_) => Code::ValidationInvalidField,
            Self::Name(LookupError::NoSuchName) => Code::DownloadDnsNxdomain,
            Self::Name(LookupError::Failed(_)) => Code::DownloadDns,
            Self::Unreached | Self::ProxyUnreached | Self::Hung => Code::DownloadConnect,
            Self::Proxy(_) | Self::ProxyForbids(_) => Code::DownloadProxyFailed,
            Self::Exhausted(_) => Code::DownloadProxyExhausted,
            Self::Tls(_) => Code::DownloadTls,
            Self::Silent(_) | Self::Deadline(_) => Code::DownloadTimeout,
            Self::TooSlow(_) => Code::DownloadTooSlow,
            Self::HeadTooLarge | Self::TooLarge(_) => Code::DownloadTooLarge,
            Self::BadAnswer(_) => Code::DownloadBadResponse,
            Self::Status { status, retry_after } => of_status(*status, retry_after.is_some()),
            Self::Redirects(_) => Code::DownloadRedirectLoop,
            Self::Cut { .. } | Self::Misfit => Code::DownloadTruncated,
            Self::Checksum(_) => Code::DownloadChecksum,
            Self::Store(error) => error.code(),
            Self::Stopped(failure) => failure.code,
        }
    }
}

/// What a status means.
fn of_status(status: u16, retry_after: bool) -> Code {
    match status {
        408 | 425 | 499 => Code::DownloadHttp4xxTransient,
        429 => Code::DownloadRateLimited,
        400..=499 => Code::DownloadHttp4xx,
        501 | 505 => Code::DownloadHttp5xxPermanent,
        503 if retry_after => Code::DownloadBusy,
        _ => Code::DownloadHttp5xx,
    }
}

/// The failure that a broken download ends with.
pub(crate) fn of(broken: &Broken, pool: Option<&str>, store: &Target, attempt: u32) -> Failure {
    let trouble = &broken.trouble;
    let failure = match trouble {
        Trouble::Stopped(failure) => return failure.clone(),
        Trouble::Store(error) => return of_store(error, store, attempt),
        trouble => {
            let what = broken.at.as_ref().map(|at| format!("GET {}: {trouble}", at.redacted()));
            Failure::new(trouble.code(), what.unwrap_or_else(|| trouble.to_string()))
        }
    };
    let mut failure = context(failure, attempt);
    if let Some(proxy) = &broken.proxy {
        failure = failure.with("proxy", format!("proxies/{proxy}"));
    }
    if matches!(trouble, Trouble::Proxy(_) | Trouble::ProxyForbids(_) | Trouble::Exhausted(_)) {
        failure = match pool.and_then(proxy::target) {
            Some(pool) => failure.at(pool),
            None => failure,
        };
        return match trouble {
            Trouble::Exhausted(wait) => failure.retry_after(*wait),
            _ => failure,
        };
    }
    if let Trouble::Status { status, retry_after } = trouble {
        failure = failure.status(*status).with("status", *status);
        failure = retry_after.map(|wait| failure.clone().retry_after(wait)).unwrap_or(failure);
    }
    if let Trouble::TooLarge(limit) = trouble {
        failure = failure.say(&format!("The resource is larger than the limit of {limit} bytes."));
    }
    match broken.at.as_ref().and_then(crate::guard::Checked::target) {
        Some(host) => failure.at(host),
        None => failure,
    }
}

/// The failure of a place. Never blamed on the origin.
pub(crate) fn of_store(error: &BlobError, store: &Target, attempt: u32) -> Failure {
    context(error.failure(), attempt).at(store.clone())
}

fn context(failure: Failure, attempt: u32) -> Failure {
    failure.with("attempt", attempt).with("proxy", Value::Null).with("status", Value::Null)
}

#[cfg(test)]
mod tests {
    use redrive_engine::model::Class;

    use super::*;

    /// Also covers: M33.
    #[test]
    fn every_status_has_its_code_and_class() {
        for (status, wait, code, class) in [
            (400, false, Code::DownloadHttp4xx, Class::Permanent),
            (401, false, Code::DownloadHttp4xx, Class::Permanent),
            (403, false, Code::DownloadHttp4xx, Class::Permanent),
            (404, false, Code::DownloadHttp4xx, Class::Permanent),
            (404, true, Code::DownloadHttp4xx, Class::Permanent),
            (408, false, Code::DownloadHttp4xxTransient, Class::Transient),
            (409, false, Code::DownloadHttp4xx, Class::Permanent),
            (410, false, Code::DownloadHttp4xx, Class::Permanent),
            (416, false, Code::DownloadHttp4xx, Class::Permanent),
            (422, false, Code::DownloadHttp4xx, Class::Permanent),
            (425, false, Code::DownloadHttp4xxTransient, Class::Transient),
            (429, false, Code::DownloadRateLimited, Class::Throttled),
            (429, true, Code::DownloadRateLimited, Class::Throttled),
            (451, false, Code::DownloadHttp4xx, Class::Permanent),
            (499, false, Code::DownloadHttp4xxTransient, Class::Transient),
            (500, false, Code::DownloadHttp5xx, Class::Transient),
            (501, false, Code::DownloadHttp5xxPermanent, Class::Permanent),
            (502, false, Code::DownloadHttp5xx, Class::Transient),
            (503, false, Code::DownloadHttp5xx, Class::Transient),
            (503, true, Code::DownloadBusy, Class::Transient),
            (504, false, Code::DownloadHttp5xx, Class::Transient),
            (505, false, Code::DownloadHttp5xxPermanent, Class::Permanent),
            (520, false, Code::DownloadHttp5xx, Class::Transient),
            (524, false, Code::DownloadHttp5xx, Class::Transient),
            (529, false, Code::DownloadHttp5xx, Class::Transient),
            (530, false, Code::DownloadHttp5xx, Class::Transient),
        ] {
            let found = of_status(status, wait);
            assert_eq!((found, found.class()), (code, class), "{status}");
        }
    }

    /// Covers R10: who looks from outside cannot tell a closed port from a filtered one.
    #[test]
    fn no_connection_is_told_in_one_way() {
        let store = Target::new("disk").unwrap();
        let broken = Broken { trouble: Trouble::Unreached, at: None, note: None, proxy: None };
        let failure = of(&broken, None, &store, 2);
        assert_eq!((failure.code, failure.message.as_str()), (Code::DownloadConnect, "no connection"));
        assert_eq!(
            serde_json::to_string(&failure.context).unwrap(),
            r#"{"attempt":2,"proxy":null,"status":null}"#
        );
    }
}
