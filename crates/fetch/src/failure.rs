//! What each trouble is called: the one table from types to registry codes.
//!
//! A message begins with the redacted URL and says what happened; what an origin wrote in its body is never in it. The context has
//! `attempt`, `proxy` and `status`, also where there is none; behind a redirect also `host`, which was asked, and `hop`, the redirect that led there.

use redrive_blob::BlobError;
use redrive_engine::{Code, Failure, Target};
use serde_json::Value;

use crate::dns::LookupError;
use crate::download::{Broken, Suspect, Trouble};
use crate::guard::Checked;
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
            Self::Proxy(_) | Self::ProxySilent | Self::ProxyForbids(_) | Self::ProxyTls(_) => {
                Code::DownloadProxyFailed
            }
            Self::Exhausted(_) => Code::DownloadProxyExhausted,
            Self::Tls(_) => Code::DownloadTls,
            Self::Silent(_) | Self::Deadline(_) => Code::DownloadTimeout,
            Self::TooSlow(_) => Code::DownloadTooSlow,
            Self::HeadTooLarge | Self::TooLarge(_) => Code::DownloadTooLarge,
            Self::BadAnswer(_) => Code::DownloadBadResponse,
            Self::Status { status, retry_after } => of_status(*status, retry_after.is_some()),
            Self::Redirects(_) | Self::Circle => Code::DownloadRedirectLoop,
            Self::Cut { .. } | Self::Misfit => Code::DownloadTruncated,
            Self::Checksum(_) => Code::DownloadChecksum,
            Self::Store(error) => error.code(),
            Self::Stopped(failure) => failure.code,
        }
    }
}

/// What a status means. What is named here may pass; every other one is the last word.
pub(crate) const fn of_status(status: u16, retry_after: bool) -> Code {
    match status {
        408 | 425 | 499 => Code::DownloadHttp4xxTransient,
        429 => Code::DownloadRateLimited,
        503 if retry_after => Code::DownloadBusy,
        500 | 502..=504 | 520..=524 | 529 | 530 => Code::DownloadHttp5xx,
        ..500 => Code::DownloadHttp4xx,
        _ => Code::DownloadHttp5xxPermanent,
    }
}

/// The failure that a broken download ends with. Whatever happens behind the first URL is blamed on `own`, the host of it: that one
/// the job waits for, and it is where the next such question begins. The host where it happened is told by the handler, as the one that
/// the attempt came to.
pub(crate) fn of(broken: &Broken, own: Option<&Target>, pool: Option<&str>, store: &Target) -> Failure {
    let trouble = &broken.trouble;
    let mut failure = match trouble {
        Trouble::Stopped(failure) => return failure.clone(),
        Trouble::Store(error) => return of_store(error, store),
        trouble => {
            let what = broken.at.as_ref().map(|at| format!("GET {}{}: {trouble}", at.redacted(), behind(at)));
            Failure::new(trouble.code(), what.unwrap_or_else(|| trouble.to_string()))
        }
    };
    if let Some(at) = broken.at.as_ref().filter(|at| at.hops() > 0) {
        failure = failure.with("hop", at.hops()).with("host", at.authority());
    }
    match trouble {
        Trouble::Exhausted(wait) => failure = failure.retry_after(*wait),
        Trouble::Status { status, retry_after } => {
            failure = failure.status(*status).with("status", *status);
            failure.retry_after = *retry_after;
        }
        Trouble::TooLarge(limit) => {
            failure = failure.say(&format!("The resource is larger than the limit of {limit} bytes."));
        }
        _ => {}
    }
    failure.target = match trouble {
        Trouble::Exhausted(_) => pool.and_then(proxy::target),
        // Not the host's fault, or not known to be: whoever asks it directly goes on. Proxies are left alone one by one.
        trouble if broken.proxy.is_some() && is_between(trouble) => None,
        _ => broken.at.as_ref().and(own).cloned(),
    };
    failure
}

/// Which redirect led there, where one did.
fn behind(at: &Checked) -> String {
    match at.hops() {
        0 => String::new(),
        nth => format!(" (redirect {nth})"),
    }
}

/// Whether somebody between us and the origin may be at fault, or is.
pub(crate) const fn is_between(trouble: &Trouble) -> bool {
    matches!(trouble.suspect(), Suspect::Proxy | Suspect::Pair)
}

/// The failure of a place. Never blamed on the origin.
pub(crate) fn of_store(error: &BlobError, store: &Target) -> Failure {
    error.failure().at(store.clone())
}

/// What every failure tells beside its message: which attempt, through whom, and with which status the origin answered; `null` where
/// there was none.
pub(crate) fn told(mut failure: Failure, attempt: u32, proxy: Option<&str>, status: Option<u16>) -> Failure {
    let facts = [
        ("attempt", Value::from(attempt)),
        ("proxy", proxy.map_or(Value::Null, |name| format!("proxies/{name}").into())),
        ("status", status.map_or(Value::Null, Value::from)),
    ];
    for (name, value) in facts {
        if !failure.context.contains_key(name) {
            failure = failure.with(name, value);
        }
    }
    failure
}

#[cfg(test)]
mod tests {
    use redrive_engine::model::Class;

    use super::*;

    /// Also covers: M33.
    #[test]
    fn every_status_has_its_code_and_class() {
        for status in 400..=599 {
            let (code, class) = match status {
                408 | 425 | 499 => (Code::DownloadHttp4xxTransient, Class::Transient),
                429 => (Code::DownloadRateLimited, Class::Throttled),
                500 | 502 | 503 | 504 => (Code::DownloadHttp5xx, Class::Transient),
                520 | 521 | 522 | 523 | 524 | 529 | 530 => (Code::DownloadHttp5xx, Class::Transient),
                400..=499 => (Code::DownloadHttp4xx, Class::Permanent),
                _ => (Code::DownloadHttp5xxPermanent, Class::Permanent),
            };
            let found = of_status(status, false);
            assert_eq!((found, found.class()), (code, class), "{status}");
            let asked = if status == 503 { Code::DownloadBusy } else { code };
            let found = of_status(status, true);
            assert_eq!((found, found.class()), (asked, class), "{status} with a Retry-After");
        }
    }

    /// The table that people read.
    #[test]
    fn what_is_retried_is_what_the_documentation_says() {
        let page = include_str!("../../../docs/fetch.md");
        let said = |code: Code| -> Vec<u16> {
            let named = format!("| `{}` |", code.name());
            let row = page.lines().find(|line| line.contains(&named)).unwrap();
            let cell = row.split('|').nth(1).unwrap();
            let numbers = |part: &str| -> Vec<u16> {
                let mut ends = part.split('–').filter_map(|end| end.trim().parse::<u16>().ok());
                let first = ends.next();
                first.map_or(Vec::new(), |first| (first..=ends.next().unwrap_or(first)).collect())
            };
            cell.split(',').flat_map(numbers).collect()
        };
        for code in [Code::DownloadHttp4xxTransient, Code::DownloadRateLimited, Code::DownloadHttp5xx] {
            let meant: Vec<u16> = (400..=599).filter(|status| of_status(*status, false) == code).collect();
            assert_eq!(said(code), meant, "{}", code.name());
        }
    }

    fn host(name: &str) -> Target {
        Target::new(format!("host:{name}:80")).unwrap()
    }

    fn broken(trouble: Trouble, at: &str, proxy: Option<&str>) -> Broken {
        let at = crate::guard::Guard::default().parse(at).ok();
        Broken { trouble, at, note: None, proxy: proxy.map(ToOwned::to_owned) }
    }

    fn blamed(broken: &Broken) -> Option<String> {
        let failure = of(broken, Some(&host("a.example")), Some("eu"), &Target::new("disk").unwrap());
        failure.target.map(|target| target.to_string())
    }

    #[test]
    fn what_happens_behind_a_redirect_is_blamed_on_the_host_that_the_job_waits_for() {
        let busy = || Trouble::Status { status: 429, retry_after: None };
        for (trouble, at) in [
            (busy(), "http://a.example/1"),
            (busy(), "http://cdn.example/1"),
            (Trouble::Unreached, "http://cdn.example/1"),
        ] {
            let broken = broken(trouble, at, None);
            assert_eq!(blamed(&broken).as_deref(), Some("host:a.example:80"), "{broken:?}");
        }
    }

    #[test]
    fn what_a_proxy_may_have_done_is_blamed_on_no_host() {
        let at = "http://a.example/1";
        for trouble in [
            Trouble::Proxy("gone".into()),
            Trouble::ProxySilent,
            Trouble::ProxyForbids(403),
            Trouble::ProxyUnreached,
            Trouble::Unreached,
            Trouble::Hung,
            Trouble::Silent(std::time::Duration::ZERO),
            Trouble::Cut { got: 1, of: None },
        ] {
            let broken = broken(trouble, at, Some("eu#1"));
            assert_eq!(blamed(&broken), None, "{broken:?}");
        }
        let heard = broken(Trouble::Status { status: 503, retry_after: None }, at, Some("eu#1"));
        assert_eq!(blamed(&heard).as_deref(), Some("host:a.example:80"), "the origin itself has said so");
        let nobody = broken(Trouble::Exhausted(std::time::Duration::ZERO), at, None);
        assert_eq!(blamed(&nobody).as_deref(), Some("proxies:eu"));
        assert_eq!(blamed(&broken(Trouble::Hung, at, None)).as_deref(), Some("host:a.example:80"));
    }

    #[test]
    fn every_failure_tells_the_same_three_facts() {
        let json = |failure: Failure| serde_json::to_string(&failure.context).unwrap();
        let plain = || Failure::new(Code::HandlerFailed, "x");
        assert_eq!(json(told(plain(), 2, None, None)), r#"{"attempt":2,"proxy":null,"status":null}"#);
        assert_eq!(
            json(told(plain(), 1, Some("eu#2"), Some(200))),
            r#"{"attempt":1,"proxy":"proxies/eu#2","status":200}"#
        );
        let knows = plain().with("status", 503);
        assert_eq!(json(told(knows, 1, None, Some(200))), r#"{"attempt":1,"proxy":null,"status":503}"#);
    }
}
