//! What came of a mail, and what a server's answer means.

use std::error::Error as _;
use std::fmt;

use lettre::transport::smtp::Error as SmtpError;
use redrive_model::{Code, Failure};

use crate::shown;

/// Where a conversation was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Looking the server up, connecting, its greeting.
    Connect,
    /// TLS.
    Encrypt,
    /// The user and the password.
    SignIn,
    /// Who sends.
    Sender,
    /// Who gets it.
    Recipients,
    /// The mail itself, up to the server's last word.
    Content,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "connecting",
            Self::Encrypt => "encrypting",
            Self::SignIn => "signing in",
            Self::Sender => "naming the sender",
            Self::Recipients => "naming the recipients",
            Self::Content => "handing over the mail",
        })
    }
}

/// The server took the mail, for everybody or for some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Who gets it.
    pub accepted: Vec<String>,
    /// Who does not, and why. Others have it: it is for them alone when it is sent again.
    pub refused: Vec<Refused>,
    /// The server's last words; often the name under which it keeps the mail.
    pub words: String,
}

impl Sent {
    /// Everybody gets it.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.refused.is_empty()
    }
}

/// A recipient whom the server did not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Who.
    pub address: String,
    /// `MAIL_UNAVAILABLE` for later, `MAIL_REFUSED` for good.
    pub code: Code,
    /// The server's answer; none when it was not even asked.
    pub reply: Option<u16>,
    /// Its words.
    pub words: String,
}

/// A mail that nobody got, as far as is known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{step}: {words}")]
pub struct MailError {
    /// What it means: `MAIL_UNAVAILABLE`, `MAIL_REFUSED`, `MAIL_AUTH`, `MAIL_TLS`.
    pub code: Code,
    /// Where it happened.
    pub step: Step,
    /// The server's answer, where there was one.
    pub reply: Option<u16>,
    /// One cleaned line, with the server's own words.
    pub words: String,
    /// The connection broke while the server's last word was waited for: it may have the mail.
    pub unsure: bool,
    /// Each recipient's own answer, when all were refused.
    pub refused: Vec<Refused>,
}

/// Servers say these when they want a user, or another one.
const SIGN_IN: [u16; 4] = [530, 534, 535, 538];
/// So much of a server's words is kept.
const LONGEST: usize = 300;

impl MailError {
    fn new(code: Code, step: Step, words: &str) -> Self {
        let words = shown::line(words, LONGEST);
        Self { code, step, reply: None, words, unsure: false, refused: Vec::new() }
    }

    pub(super) fn refused(step: Step, words: String) -> Self {
        Self::new(Code::MailRefused, step, &words)
    }

    pub(super) fn internal(words: String) -> Self {
        Self::new(Code::SystemInternal, Step::Content, &words)
    }

    pub(super) fn tls(words: &str) -> Self {
        Self::new(Code::MailTls, Step::Encrypt, words)
    }

    /// Nobody answered in time.
    pub(super) fn late(step: Step, within: std::time::Duration) -> Self {
        let millis = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
        let words = format!("no answer within {}", shown::duration(millis));
        Self { unsure: step == Step::Content, ..Self::new(Code::MailUnavailable, step, &words) }
    }

    /// Nobody of several was taken. One who may be taken later makes the whole worth another try.
    pub(super) fn nobody(refused: Vec<Refused>) -> Self {
        let later = refused.iter().find(|one| one.code != Code::MailRefused);
        let told = later.or(refused.first());
        let (code, reply, words) = told.map_or((Code::MailRefused, None, String::new()), |one| {
            (one.code, one.reply, format!("{}: {}", shown::line(&one.address, 80), one.words))
        });
        Self { reply, refused, ..Self::new(code, Step::Recipients, &words) }
    }

    /// What went wrong between us and the server, or what it answered.
    pub(super) fn of(step: Step, error: &SmtpError) -> Self {
        let reply = error.status().map(u16::from);
        let code = match reply {
            Some(status) if SIGN_IN.contains(&status) => Code::MailAuth,
            Some(_) if error.is_permanent() && step == Step::SignIn => Code::MailAuth,
            Some(_) if error.is_permanent() => Code::MailRefused,
            Some(_) => Code::MailUnavailable,
            None if error.is_tls() || is_tls(error) => Code::MailTls,
            // The client gave up by itself: there is no way to sign in that both know.
            None if error.is_client() && step == Step::SignIn => Code::MailAuth,
            None => Code::MailUnavailable,
        };
        let said = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        // A server that repeats what it was told would have the password told on.
        let said = if step == Step::SignIn && reply.is_some() { its_code(&said) } else { said };
        let words = reply.map_or_else(|| said.clone(), |status| format!("the server said {status} {said}"));
        let unsure = step == Step::Content && reply.is_none();
        Self { reply, unsure, ..Self::new(code, step, &words) }
    }

    /// The same for the engine.
    #[must_use]
    pub fn failure(&self) -> Failure {
        let failure = Failure::new(self.code, format_args!("mail: {self}")).with("unsure", self.unsure);
        match self.reply {
            Some(reply) => failure.with("smtp_reply", reply),
            None => failure,
        }
    }
}

/// The code with dots that a server's words may begin with, such as `5.7.8`; nothing else of them.
fn its_code(said: &str) -> String {
    let first = said.split_whitespace().next().unwrap_or_default();
    let is_code = first.len() <= 11 && first.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_code { first.to_owned() } else { String::new() }
}

/// Handshakes that fail come as errors of the connection, with the reason inside.
fn is_tls(error: &SmtpError) -> bool {
    let mut source = error.source();
    while let Some(error) = source {
        let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if error.is::<rustls::Error>() || inner.is_some_and(|inner| inner.is::<rustls::Error>()) {
            return true;
        }
        source = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::its_code;

    #[test]
    fn of_the_answer_to_a_password_only_the_code_is_told() {
        for (said, told) in [
            ("5.7.8 you said AUTH PLAIN AGNhbmFyeQ==", "5.7.8"),
            ("you said canary", ""),
            ("4111111111111.1 canary", ""),
            ("", ""),
        ] {
            assert_eq!(its_code(said), told, "{said}");
        }
    }
}
