//! One failure as it happened: code, cleaned message, context, and what the other side said.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::registry::Code;
use crate::limits::{MAX_CONTEXT_BYTES, MAX_MESSAGE_BYTES, MAX_PUBLIC_MESSAGE_CHARS};
use crate::name::Target;
use crate::{redact, text};

/// Small facts beside the message: proxy, status, host. Bounded when it is stored.
pub type Context = BTreeMap<String, serde_json::Value>;

/// One classified failure.
///
/// The message is for operators: one line, secrets removed, bounded. People outside see [`Failure::public_message`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// What it is, from the registry.
    pub code: Code,
    /// One cleaned line for operators.
    pub message: String,
    /// Small facts beside the message.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub context: Context,
    /// The status the other side answered with, where there was an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_status: Option<u16>,
    /// How long the other side asked us to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Duration>,
    /// A sentence that is safe to show outside in place of the registry's, for example the real upload limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sentence: Option<String>,
    /// The target it is blamed on, where the job depends on several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
}

impl Failure {
    /// Makes a failure from anything that can be displayed. The text is rendered only as far as it is kept: a message
    /// of 100 MB costs two kilobytes.
    #[must_use]
    pub fn new(code: Code, message: impl fmt::Display) -> Self {
        let raw = text::render_bounded(&message, MAX_MESSAGE_BYTES * 2);
        let message = text::one_line(&redact::redact(&raw.text), MAX_MESSAGE_BYTES, raw.cut);
        Self {
            code,
            message,
            context: Context::new(),
            target_status: None,
            retry_after: None,
            sentence: None,
            target: None,
        }
    }

    /// Adds a fact. Text values are redacted; what would make the context too large is left out and marked.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<serde_json::Value>) -> Self {
        let value = match value.into() {
            serde_json::Value::String(s) => {
                serde_json::Value::String(text::one_line(&redact::redact(&s), MAX_MESSAGE_BYTES, false))
            }
            other => other,
        };
        let key = text::one_line(key, 64, false);
        self.context.insert(key.clone(), value);
        let size = serde_json::to_string(&self.context).map_or(usize::MAX, |json| json.len());
        if size > MAX_CONTEXT_BYTES {
            self.context.remove(&key);
            self.context.insert("context_cut".into(), true.into());
        }
        self
    }

    /// Records the status the other side answered with.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.target_status = Some(status);
        self
    }

    /// Blames one of the targets that the job depends on.
    #[must_use]
    pub fn at(mut self, target: Target) -> Self {
        self.target = Some(target);
        self
    }

    /// Records how long the other side asked us to wait.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Replaces the registry's sentence by one that is safe to show and says more.
    #[must_use]
    pub fn say(mut self, sentence: &str) -> Self {
        self.sentence = Some(text::one_line_chars(&redact::redact(sentence), MAX_PUBLIC_MESSAGE_CHARS));
        self
    }

    /// The sentence for people outside: never a path, a stack or a secret.
    #[must_use]
    pub fn public_message(&self) -> &str {
        self.sentence.as_deref().unwrap_or(self.code.public().entry().what_happened)
    }
}

/// Any error becomes a failure that is retried: `?` works in handlers. The whole chain of causes is in its message.
impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut message = text::render_bounded(&error, MAX_MESSAGE_BYTES).text;
        let mut cause = error.source();
        while let Some(next) = cause.filter(|_| message.len() < MAX_MESSAGE_BYTES) {
            message.push_str(": ");
            message.push_str(&text::render_bounded(&next, MAX_MESSAGE_BYTES).text);
            cause = next.source();
        }
        Self::new(Code::Unknown, message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Endless;
    impl fmt::Display for Endless {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            loop {
                f.write_str("all work and no play ")?;
            }
        }
    }

    #[test]
    fn a_message_without_end_is_cut_and_marked() {
        let failure = Failure::new(Code::Unknown, Endless);
        assert!(failure.message.len() <= MAX_MESSAGE_BYTES);
        assert!(failure.message.ends_with("[cut]"), "{}", failure.message);
    }

    #[test]
    fn a_hundred_megabytes_are_cut_and_marked() {
        let failure = Failure::new(Code::Unknown, "x".repeat(100 << 20));
        assert!(failure.message.len() <= MAX_MESSAGE_BYTES && failure.message.ends_with("[cut]"));
    }

    #[test]
    fn nul_and_newlines_do_not_survive() {
        let failure = Failure::new(Code::Unknown, "a\0b\nc\u{1b}[31m\u{202e}d");
        assert_eq!(failure.message, "a\u{fffd}b c\u{fffd}[31m\u{fffd}d");
    }

    #[test]
    fn a_context_that_grows_too_large_is_marked_not_kept() {
        let mut failure = Failure::new(Code::DownloadTimeout, "slow").with("proxy", "pools/eu#1");
        for n in 0..20 {
            failure = failure.with(&format!("k\n{n}"), "y".repeat(1_500));
        }
        assert!(serde_json::to_string(&failure.context).unwrap().len() <= MAX_CONTEXT_BYTES + 20);
        assert_eq!(failure.context["context_cut"], true);
        assert_eq!(failure.context["proxy"], "pools/eu#1");
    }

    #[test]
    fn people_outside_see_the_registry_sentence_or_a_vetted_one() {
        let failure = Failure::new(Code::GwUnavailable, "connect to /run/secret.sock failed");
        assert_eq!(failure.public_message(), "Converter service is having an issue.");
        let failure = Failure::new(Code::TooLarge, "12 bytes").say("File exceeds 1 KB limit.");
        assert_eq!(failure.public_message(), "File exceeds 1 KB limit.");
    }
}
