//! What an answer, or the lack of one, means. The one table of the gateway's statuses.

use std::time::Duration;

use jiff::fmt::rfc2822;
use redrive_engine::store::clock::{Clock, SystemClock};
use redrive_engine::{Code, Failure};
use serde::Deserialize;

use crate::answer::Answer;

/// So much of a refusal's body is looked at.
const LOOK: usize = 8 << 10;

/// A gateway's problem document, as far as we understand it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Problem {
    code: String,
    detail: String,
    title: String,
}

/// No answer: nobody there, a cut wire, a broken handshake.
pub(crate) fn of_error(error: reqwest::Error) -> Failure {
    if error.is_timeout() {
        return Failure::new(Code::GwTimeout, chain(error));
    }
    Failure::new(Code::GwUnavailable, chain(error))
}

/// It took longer than the whole call may take.
pub(crate) fn too_slow(timeout: Duration) -> Failure {
    Failure::new(Code::GwTimeout, format!("no whole answer within {} ms", timeout.as_millis()))
}

/// The answer began and broke off.
pub(crate) fn cut(error: reqwest::Error) -> Failure {
    if error.is_timeout() {
        return Failure::new(Code::GwTimeout, chain(error));
    }
    Failure::new(Code::GwTruncated, chain(error))
}

/// An answer other than 200.
pub(crate) async fn of_answer(mut answer: Answer) -> Failure {
    let status = answer.status();
    let retry_after = answer.header("retry-after").and_then(wait);
    let problem = read(&mut answer).await;
    let code = code_of(status, &problem.code, retry_after.is_some());
    let said = [&problem.code, &problem.detail, &problem.title].into_iter().find(|text| !text.is_empty());
    let message = match said {
        Some(_) => format!("status {status}: {} {}", problem.code, problem.detail),
        None => format!("status {status}"),
    };
    let mut failure = Failure::new(code, message.trim()).status(status);
    if let Some(sentence) = sentence(code, &problem) {
        failure = failure.say(&sentence);
    }
    match retry_after {
        Some(wait) => failure.retry_after(wait),
        None => failure,
    }
}

/// What a status means; the inner code says more where the gateway speaks our contract.
fn code_of(status: u16, inner: &str, retry_after: bool) -> Code {
    match (status, inner) {
        (408, _) => Code::GwRequestTimeout,
        (429, _) => Code::GwThrottled,
        (401 | 403, _) => Code::GwUnauthorized,
        (406, "unknown_mapping") | (400, "missing_mapping" | "unknown_mapping") => Code::InvalidMapping,
        (400..=499, "invalid_pdf") => Code::ParseError,
        (400..=499, "password_required") => Code::GwPasswordRequired,
        (400..=499, "unsupported_encryption") => Code::GwUnsupportedEncryption,
        (400..=499, "too_many_pages") => Code::GwTooManyPages,
        (400..=499, "limit_exceeded") => Code::GwLimitExceeded,
        (422, _) => Code::ValidationError,
        (400..=499, _) => Code::Gw4xx,
        (503, _) if retry_after => Code::GwBusy,
        (503, _) => Code::GwUnavailable,
        (500..=599, _) => Code::Gw5xx,
        // Neither an error nor the answer that was asked for: a redirect, an empty 204.
        (_, _) => Code::GwBadResponse,
    }
}

/// What the person is told beside the registry's sentence. Only for refusals of the file itself, and only by a code that we
/// know: a gateway's own words may hold a path or a stack.
fn sentence(code: Code, problem: &Problem) -> Option<String> {
    let why = match (code, problem.code.as_str()) {
        (Code::GwPasswordRequired, _) => "The PDF opens only with a password.",
        (Code::GwUnsupportedEncryption, _) => "The PDF is encrypted in a way that cannot be read.",
        (Code::GwTooManyPages, _) => "The PDF has too many pages.",
        (Code::GwLimitExceeded, _) => "The PDF needs more time or memory than one file may use.",
        (Code::ParseError, _) => "The file is damaged, or is no PDF.",
        (Code::InvalidMapping, _) => "Unsupported mapping.",
        (_, _) => return None,
    };
    Some(format!("Couldn’t convert this file with the selected mapping. {why}"))
}

async fn read(answer: &mut Answer) -> Problem {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = answer.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() > LOOK {
            break;
        }
    }
    serde_json::from_slice(&body).unwrap_or_default()
}

/// `Retry-After`: seconds, or a date. What cannot be read is not there.
fn wait(text: &str) -> Option<Duration> {
    if let Ok(seconds) = text.trim().parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let at = rfc2822::DateTimeParser::new().parse_timestamp(text.trim()).ok()?;
    Duration::try_from(at.duration_since(SystemClock.now())).ok()
}

/// The whole chain of causes, without the URL: it may hold a password.
fn chain(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also covers: M33.
    #[test]
    fn every_status_has_its_code() {
        for (status, inner, retry_after, code) in [
            (400, "", false, Code::Gw4xx),
            (400, "invalid_pdf", false, Code::ParseError),
            (400, "missing_mapping", false, Code::InvalidMapping),
            (400, "password_required", false, Code::GwPasswordRequired),
            (400, "unsupported_encryption", false, Code::GwUnsupportedEncryption),
            (400, "too_many_pages", false, Code::GwTooManyPages),
            (400, "limit_exceeded", false, Code::GwLimitExceeded),
            (401, "", false, Code::GwUnauthorized),
            (403, "", false, Code::GwUnauthorized),
            (404, "", false, Code::Gw4xx),
            (406, "unknown_mapping", false, Code::InvalidMapping),
            (406, "", false, Code::Gw4xx),
            (408, "", false, Code::GwRequestTimeout),
            (413, "", false, Code::Gw4xx),
            (415, "", false, Code::Gw4xx),
            (422, "", false, Code::ValidationError),
            (429, "", true, Code::GwThrottled),
            (500, "", false, Code::Gw5xx),
            (502, "", false, Code::Gw5xx),
            (503, "", false, Code::GwUnavailable),
            (503, "", true, Code::GwBusy),
            (504, "", false, Code::Gw5xx),
            (204, "", false, Code::GwBadResponse),
            (302, "", false, Code::GwBadResponse),
        ] {
            assert_eq!(code_of(status, inner, retry_after), code, "{status} {inner}");
        }
    }

    /// Also covers: M34.
    #[test]
    fn a_wait_is_seconds_or_a_date() {
        assert_eq!(wait(" 120 "), Some(Duration::from_secs(120)));
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:37 GMT"), None, "a date that is over asks for nothing");
        assert!(wait("Fri, 06 Nov 2099 08:49:37 GMT").is_some());
        assert_eq!(wait("-1"), None);
        assert_eq!(wait("soon"), None);
    }
}
