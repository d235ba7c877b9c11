//! Which failures are the same fault.
//!
//! The fingerprint hashes code, workload, target and the message with everything that differs from job to job folded
//! away: ids, numbers, URLs, paths, quoted text. A number right after a word such as `status` or `errno` stays, because
//! it *is* the fault.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::failure::Code;
use crate::name::{Target, WorkloadName};

/// Names a failure group: 16 hexadecimal digits.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// The group of this failure.
    #[must_use]
    pub fn new(code: Code, workload: &WorkloadName, target: Option<&Target>, message: &str) -> Self {
        let mut hash = Sha256::new();
        let folded = fold(message);
        for part in [code.name(), workload.as_str(), target.map_or("", Target::as_str), &folded] {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
        Self(hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect())
    }

    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({})", self.0)
    }
}

impl FromStr for Fingerprint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.len() == 16 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            Ok(Self(text.to_owned()))
        } else {
            Err(format!("a group is named by 16 hexadecimal digits, not {text:?}"))
        }
    }
}

/// Words after which a short number is part of the fault and stays.
const TELLING: &[&str] = &["status", "http", "code", "errno", "error", "exit", "signal", "sqlstate"];

/// The message with everything folded away that differs from job to job.
#[must_use]
pub fn fold(message: &str) -> String {
    let unquoted = fold_quotes(message);
    let mut out: Vec<String> = Vec::new();
    let mut telling = false;
    for token in unquoted.split_whitespace() {
        let bare = token.trim_matches(|c: char| !c.is_alphanumeric());
        let keep = telling && bare.len() <= 3 && bare.bytes().all(|b| b.is_ascii_digit());
        telling = TELLING.iter().any(|word| bare.eq_ignore_ascii_case(word)) || (telling && bare.is_empty());
        out.push(if keep { token.to_lowercase() } else { fold_token(token) });
    }
    out.join(" ")
}

/// Quoted text becomes `''`. An apostrophe inside a word is not a quote.
fn fold_quotes(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    let mut closing: Option<char> = None;
    let mut before = ' ';
    let mut chars = message.chars().peekable();
    while let Some(c) = chars.next() {
        match closing {
            Some(end) => {
                let ends_word = chars.peek().is_none_or(|next| !next.is_alphanumeric());
                if c == end && (end != '\'' || ends_word) {
                    closing = None;
                    out.push_str("''");
                }
            }
            None => {
                closing = match c {
                    '"' | '`' => Some(c),
                    '\'' if !before.is_alphanumeric() => Some('\''),
                    '“' => Some('”'),
                    '‘' => Some('’'),
                    '«' => Some('»'),
                    _ => None,
                };
                if closing.is_none() {
                    out.push(c);
                }
            }
        }
        before = c;
    }
    // An opening quote that never closes folds the rest away.
    if closing.is_some() {
        out.push_str("''");
    }
    out
}

fn fold_token(token: &str) -> String {
    if token.contains("://") {
        return "<url>".into();
    }
    if token.contains('@') {
        return "<mail>".into();
    }
    if looks_like_path(token) {
        return "<path>".into();
    }
    fold_digits(&token.to_lowercase())
}

fn looks_like_path(token: &str) -> bool {
    let bare = token.trim_matches(|c: char| !(c.is_alphanumeric() || matches!(c, '/' | '\\' | '.' | '~')));
    bare.len() > 1 && (bare.starts_with(['/', '~']) || bare.contains('\\') || bare.matches('/').count() >= 2)
}

/// Runs of letters and digits that contain a digit become `#`: numbers, hex ids, UUIDs, host names with numbers.
fn fold_digits(token: &str) -> String {
    let mut out = String::with_capacity(token.len());
    let mut run = String::new();
    for c in token.chars().chain(std::iter::once('\0')) {
        if c.is_alphanumeric() {
            run.push(c);
            continue;
        }
        if run.chars().any(|c| c.is_ascii_digit()) || is_long_hex(&run) {
            if !out.ends_with('#') {
                out.push('#');
            }
        } else {
            out.push_str(&run);
        }
        run.clear();
        // Inside an id, dashes, dots and colons are part of it.
        if c != '\0' && !(out.ends_with('#') && matches!(c, '-' | '.' | ':' | '_')) {
            out.push(c);
        }
    }
    out
}

fn is_long_hex(run: &str) -> bool {
    run.len() >= 12 && run.bytes().all(|b| b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(a: &str, b: &str) {
        assert_eq!(fold(a), fold(b), "{a} | {b}");
    }

    fn apart(a: &str, b: &str) {
        assert_ne!(fold(a), fold(b), "{a} | {b}");
    }

    #[test]
    fn the_same_fault_folds_together() {
        same(
            "job 0190c1a2-7b4e-7cc1-9d55-0123456789ab timed out after 30s",
            "job 01aabbcc-7b4e-7cc1-9d55-ffffffffffff timed out after 31s",
        );
        same("GET https://a.example/1 timed out", "GET https://b.example/2?x=1 timed out");
        same("cannot open /var/lib/a/b.pdf", "cannot open /srv/x.pdf");
        same(r"cannot open C:\data\a.pdf", r"cannot open D:\x\b.pdf");
        same("unknown mapping 'foo'", "unknown mapping 'bar baz'");
        same("unknown mapping “foo”", "unknown mapping “x”");
        same("connect 10.0.0.1:443 refused", "connect 192.168.7.20:8080 refused");
        same("page 7 of 120 is damaged", "page 118 of 3000 is damaged");
        same("mail to ann@example.org bounced", "mail to bob@example.com bounced");
        same("object deadbeefdeadbeef missing", "object cafebabecafebabe missing");
        same("Disk Full", "disk  full");
    }

    #[test]
    fn different_faults_stay_apart() {
        apart("status 404", "status 403");
        apart("HTTP 500 from server", "HTTP 503 from server");
        apart("os error 28 while writing", "os error 5 while writing");
        apart("connection refused", "connection reset");
        apart("couldn't open it", "couldn't close it");
        apart("exit code 1", "exit code 137");
        apart("page is damaged", "font is damaged");
    }

    #[test]
    fn code_workload_and_target_make_other_groups() {
        let w = |s: &str| WorkloadName::new(s).unwrap();
        let t = Target::new("gateway").unwrap();
        let base = Fingerprint::new(Code::Gw5xx, &w("convert"), Some(&t), "x");
        assert_eq!(base, Fingerprint::new(Code::Gw5xx, &w("convert"), Some(&t), "x"));
        assert_ne!(base, Fingerprint::new(Code::GwTimeout, &w("convert"), Some(&t), "x"));
        assert_ne!(base, Fingerprint::new(Code::Gw5xx, &w("fetch"), Some(&t), "x"));
        assert_ne!(base, Fingerprint::new(Code::Gw5xx, &w("convert"), None, "x"));
        assert_eq!(base.as_str().parse::<Fingerprint>().unwrap(), base);
        assert!("../../etc".parse::<Fingerprint>().is_err());
    }

    #[test]
    fn an_apostrophe_is_not_a_quote_and_an_open_quote_ends_with_the_text() {
        assert_eq!(fold("it can't work"), "it can't work");
        assert_eq!(fold("bad name 'abc"), "bad name ''");
    }

    proptest::proptest! {
        #[test]
        fn folding_takes_any_text_and_is_stable(text in proptest::prelude::any::<String>()) {
            let once = fold(&text);
            proptest::prop_assert_eq!(fold(&text), once);
        }

        #[test]
        fn numbers_never_split_a_group(a: u64, b: u64) {
            same(&format!("item {a} is broken"), &format!("item {b} is broken"));
        }
    }
}
