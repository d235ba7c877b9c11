//! A mail as bytes. The same mail is the same bytes, however often it is sent.
//!
//! No text reaches a header but through a typed constructor, and lines are cleaned before: there is no way to end a header from inside.

use std::time::SystemTime;

use jiff::Timestamp;
use lettre::message::header::{ContentTransferEncoding, ContentType, HeaderName, HeaderValue};
use lettre::message::{Mailbox, Message, MultiPart, MultiPartKind, SinglePart};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::error::{MailError, Step};
use super::settings::mailbox;
use crate::shown;

/// One mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// To whom.
    pub to: Vec<String>,
    /// What it is about, in one line.
    pub subject: String,
    /// For programs that show plain text.
    pub text: String,
    /// For the others.
    pub html: String,
    /// When it was written; the same for every try.
    pub date: Timestamp,
    /// Which mail it is, the same for every try. It becomes the `Message-ID` and the `X-Entity-Ref-ID`, so that a mailbox that gets it twice can tell.
    pub key: String,
}

/// Between the two forms. Encoded bodies never have it: `=` is followed by two digits there.
const BOUNDARY: &str = "=_redrive_two_forms";
/// What may stand in a `Message-ID` beside letters and digits.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'/').remove(b'+');
/// A header's line has at most 998 characters.
const LONGEST_KEY: usize = 800;
/// So much of a subject is sent.
const LONGEST_SUBJECT: usize = 200;

/// A mail that can be sent.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) to: Vec<Mailbox>,
    pub(super) bytes: Vec<u8>,
}

/// Writes a mail.
pub(super) fn ready(mail: &Mail, from: &Mailbox) -> Result<Ready, MailError> {
    let to = mail.to.iter().map(|address| {
        mailbox(address).ok_or_else(|| {
            let shown = shown::line(address, 80);
            MailError::refused(Step::Recipients, format!("{shown:?} is no mail address"))
        })
    });
    let to = to.collect::<Result<Vec<Mailbox>, MailError>>()?;
    if to.is_empty() {
        return Err(MailError::refused(Step::Recipients, "there is no recipient".to_owned()));
    }
    let id = utf8_percent_encode(&mail.key, PLAIN).to_string();
    let id = id.replace("..", "%2E.");
    if id.is_empty() || id.len() > LONGEST_KEY {
        return Err(MailError::internal(format!("a mail's key has {} characters", id.len())));
    }
    let mut builder = Message::builder().from(from.clone());
    for to in &to {
        builder = builder.to(to.clone());
    }
    let message = builder
        .subject(shown::line(&mail.subject, LONGEST_SUBJECT))
        .date(SystemTime::from(mail.date))
        .message_id(Some(format!("<{id}@{}>", from.email.domain())))
        .raw_header(HeaderValue::new(HeaderName::new_from_ascii_str("X-Entity-Ref-ID"), id))
        // Nobody who is away answers a machine.
        .raw_header(HeaderValue::new(
            HeaderName::new_from_ascii_str("Auto-Submitted"),
            "auto-generated".to_owned(),
        ))
        .multipart(
            MultiPart::builder()
                .kind(MultiPartKind::Alternative)
                .boundary(BOUNDARY)
                .singlepart(part(ContentType::TEXT_PLAIN, &mail.text))
                .singlepart(part(ContentType::TEXT_HTML, &mail.html)),
        )
        .map_err(|error| MailError::internal(error.to_string()))?;
    Ok(Ready { to, bytes: message.formatted() })
}

fn part(kind: ContentType, body: &str) -> SinglePart {
    SinglePart::builder().header(kind).header(ContentTransferEncoding::QuotedPrintable).body(body.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mail() -> Mail {
        Mail {
            to: vec!["ann@example.org".to_owned(), "Bo <bo@example.org>".to_owned()],
            subject: "3 neue Fehler — intake".to_owned(),
            text: "Grüße\n.\nFrom here".to_owned(),
            html: "<p>Grüße</p>".to_owned(),
            date: "2026-02-25T22:55:00Z".parse().unwrap(),
            key: "digest/2026-02-25/jane doe".to_owned(),
        }
    }

    fn from() -> Mailbox {
        "Redrive <redrive@example.org>".parse().unwrap()
    }

    fn heads(bytes: &[u8]) -> Vec<String> {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let (head, _) = text.split_once("\r\n\r\n").unwrap();
        head.replace("\r\n ", " ").replace("\r\n\t", " ").split("\r\n").map(str::to_owned).collect()
    }

    #[test]
    fn a_mail_says_who_when_what_and_which_and_is_the_same_every_time() {
        let bytes = ready(&mail(), &from()).unwrap().bytes;
        assert!(bytes.is_ascii());
        let heads = heads(&bytes);
        for head in [
            "From: Redrive <redrive@example.org>",
            "To: ann@example.org, Bo <bo@example.org>",
            "Date: Wed, 25 Feb 2026 22:55:00 +0000",
            "Message-ID: <digest/2026-02-25/jane%20doe@example.org>",
            "X-Entity-Ref-ID: digest/2026-02-25/jane%20doe",
            "Auto-Submitted: auto-generated",
            "MIME-Version: 1.0",
        ] {
            assert!(heads.iter().any(|known| known == head), "{head}: {heads:#?}");
        }
        assert_eq!(bytes, ready(&mail(), &from()).unwrap().bytes);
    }

    #[test]
    fn what_is_no_address_is_refused_before_anybody_is_asked() {
        for to in [vec![], vec!["nobody".to_owned()], vec!["a@b\r\nRCPT TO:<c@d>".to_owned()]] {
            let error = ready(&Mail { to, ..mail() }, &from()).unwrap_err();
            assert_eq!(error.code, redrive_model::Code::MailRefused);
        }
        let error = ready(&Mail { key: String::new(), ..mail() }, &from()).unwrap_err();
        assert_eq!(error.code, redrive_model::Code::SystemInternal);
    }

    proptest! {
        #[test]
        fn no_text_makes_a_header_of_its_own(subject in any::<String>(), key in "\\PC{1,60}|.{1,9}", name in any::<String>()) {
            let evil = "\r\nBcc: evil@example.org\r\n\r\n";
            let mail = Mail {
                subject: format!("{subject}{evil}"),
                key: format!("{key}{evil}"),
                to: vec![format!("{} <a@example.org>", name.replace(char::is_control, ""))],
                ..mail()
            };
            let Ok(ready) = ready(&mail, &from()) else { return Ok(()) };
            let heads = heads(&ready.bytes);
            let names: Vec<&str> = heads.iter().filter_map(|head| head.split(':').next()).collect();
            let known = ["From", "To", "Subject", "Date", "Message-ID", "X-Entity-Ref-ID", "Auto-Submitted", "MIME-Version", "Content-Type"];
            prop_assert!(names.iter().all(|name| known.contains(name)), "{names:?}");
            prop_assert_eq!(names.len(), known.len());
            prop_assert!(ready.bytes.is_ascii());
        }
    }
}
