//! Reads an XML document once through and says whether it is one.
//!
//! Our own output counts only after this: a parser that we did not write has seen it to its end. It is strict where
//! documents of ours never go: no document type, no entities but the five, no comments, no instructions, bounded depth and
//! size. So it is also safe on what others wrote. Memory is that of the longest piece between two tags.

use std::io::{self, BufRead};

use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::{BytesRef, BytesStart, Event};

use super::chars::is_allowed;

/// How much is read before it is too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Elements inside each other.
    pub depth: usize,
    /// The whole document.
    pub bytes: u64,
}

/// Why it is not an XML document that we take.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// It does not follow the grammar.
    #[error("not well-formed: {0}")]
    Malformed(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It follows the grammar, but uses what we refuse, or breaks a rule that the parser leaves to us.
    #[error("{0}")]
    Refused(&'static str),
    /// It could not be read.
    #[error("cannot be read: {0}")]
    Io(#[source] io::Error),
}

/// Reads the document to its end. Answers how many elements it has.
pub fn verify(input: impl BufRead, limits: Limits) -> Result<u64, Fault> {
    let mut reader = Reader::from_reader(input.take(limits.bytes.saturating_add(1)));
    reader.config_mut().enable_all_checks(true);
    let mut buffer = Vec::new();
    let mut state = State::default();
    loop {
        buffer.clear();
        let event = reader.read_event_into(&mut buffer).map_err(|error| match error {
            quick_xml::Error::Io(error) => Fault::Io(io::Error::new(error.kind(), error)),
            other => malformed(other),
        })?;
        let end = matches!(event, Event::Eof);
        state.take(&event, limits)?;
        if reader.buffer_position() > limits.bytes {
            return Err(Fault::Refused("larger than allowed"));
        }
        if end {
            return Ok(state.elements);
        }
    }
}

/// Where in the document we are.
#[derive(Debug, Default)]
struct State {
    depth: usize,
    elements: u64,
    events: u64,
}

impl State {
    fn take(&mut self, event: &Event<'_>, limits: Limits) -> Result<(), Fault> {
        let first = self.events == 0;
        self.events += 1;
        match event {
            Event::Start(tag) => {
                self.element(tag)?;
                self.depth += 1;
                if self.depth > limits.depth {
                    return Err(Fault::Refused("nested deeper than allowed"));
                }
                Ok(())
            }
            Event::Empty(tag) => self.element(tag),
            Event::End(_) => {
                self.depth = self.depth.saturating_sub(1);
                Ok(())
            }
            Event::Text(text) => {
                let text = utf8(text)?;
                if self.depth == 0 && !text.bytes().all(|b| b.is_ascii_whitespace()) {
                    return Err(Fault::Refused("text outside of the root element"));
                }
                allowed(text)
            }
            Event::GeneralRef(reference) if self.depth > 0 => resolve(reference),
            Event::GeneralRef(_) => Err(Fault::Refused("text outside of the root element")),
            Event::Decl(_) if first => Ok(()),
            Event::Decl(_) => Err(Fault::Refused("a declaration that is not the beginning")),
            Event::CData(_) => Err(Fault::Refused("a CDATA section")),
            Event::Comment(_) => Err(Fault::Refused("a comment")),
            Event::PI(_) => Err(Fault::Refused("a processing instruction")),
            Event::DocType(_) => Err(Fault::Refused("a document type")),
            Event::Eof if self.depth > 0 => Err(Fault::Refused("it breaks off")),
            Event::Eof if self.elements == 0 => Err(Fault::Refused("no element")),
            Event::Eof => Ok(()),
        }
    }

    fn element(&mut self, tag: &BytesStart<'_>) -> Result<(), Fault> {
        if self.depth == 0 && self.elements > 0 {
            return Err(Fault::Refused("a second root element"));
        }
        self.elements += 1;
        is_name(tag.name().as_ref())?;
        for attribute in tag.attributes() {
            let attribute = attribute.map_err(malformed)?;
            is_name(attribute.key.as_ref())?;
            let raw = utf8(&attribute.value)?;
            if raw.contains('<') {
                return Err(Fault::Refused("a `<` in an attribute"));
            }
            allowed(&unescape(raw).map_err(malformed)?)?;
        }
        Ok(())
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, Fault> {
    std::str::from_utf8(bytes).map_err(malformed)
}

fn allowed(text: &str) -> Result<(), Fault> {
    if text.chars().all(is_allowed) {
        Ok(())
    } else {
        Err(Fault::Refused("a character that XML does not allow"))
    }
}

/// Names of ASCII letters, as all of ours are.
fn is_name(name: &[u8]) -> Result<(), Fault> {
    let rest = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b':');
    match name.split_first() {
        Some((first, after)) if (first.is_ascii_alphabetic() || *first == b'_') && after.iter().all(rest) => {
            Ok(())
        }
        Some(_) | None => Err(Fault::Refused("a name of other than ASCII letters")),
    }
}

fn resolve(reference: &BytesRef<'_>) -> Result<(), Fault> {
    match reference.resolve_char_ref().map_err(malformed)? {
        Some(c) if is_allowed(c) => Ok(()),
        Some(_) => Err(Fault::Refused("a reference to a character that XML does not allow")),
        None if matches!(&**reference, b"amp" | b"lt" | b"gt" | b"quot" | b"apos") => Ok(()),
        None => Err(Fault::Refused("an entity")),
    }
}

fn malformed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Fault {
    Fault::Malformed(error.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { depth: 4, bytes: 1000 };

    fn check(text: &str) -> Result<u64, Fault> {
        verify(text.as_bytes(), LIMITS)
    }

    #[test]
    fn documents_like_ours_pass() {
        assert_eq!(check("<a/>").unwrap(), 1);
        let text = "<?xml version=\"1.0\"?>\n<a b=\"&#10;&quot;\">\n <c>&amp;x&#13;</c>\n <d/>\n</a>\n";
        assert_eq!(check(text).unwrap(), 3);
        assert_eq!(check("<a><b><c><d>x</d></c></b></a>").unwrap(), 4);
    }

    #[test]
    fn everything_else_is_refused() {
        let bomb = "<!DOCTYPE a [<!ENTITY b \"bbbb\"><!ENTITY c \"&b;&b;\">]><a>&c;</a>";
        let external = "<!DOCTYPE a [<!ENTITY b SYSTEM \"file:///etc/passwd\">]><a>&b;</a>";
        let long = format!("<a>{}</a>", "x".repeat(1000));
        for bad in [
            "",
            " ",
            "x",
            "<a>",
            "<a></b>",
            "</a>",
            "<a/><a/>",
            "<a/>x",
            "x<a/>",
            "&amp;<a/>",
            "<a>&b;</a>",
            "<a>&</a>",
            "<a>&#0;</a>",
            "<a>&#1;</a>",
            "<a>&#xFFFF;</a>",
            "<a>&#xD800;</a>",
            "<a>\u{1}</a>",
            "<a>\u{FFFE}</a>",
            "<a b=\"\u{1}\"/>",
            "<a b=\"&#1;\"/>",
            "<a b=\"<\"/>",
            "<a b=\"&c;\"/>",
            "<a b=\"1\" b=\"2\"/>",
            "<a b=1/>",
            "<a b/>",
            "<!DOCTYPE a><a/>",
            "<a><!-- x --></a>",
            "<a><?x y?></a>",
            "<a><![CDATA[x]]></a>",
            "<a/><?xml version=\"1.0\"?>",
            "<1a/>",
            "<é/>",
            "<a><b><c><d><e/></d></c></b><b><c><d><e></e></d></c></b></a>",
            bomb,
            external,
            &long,
        ] {
            assert!(check(bad).is_err(), "{bad:?} passed");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_refused() {
        assert!(verify(b"<a>\xff</a>".as_slice(), LIMITS).is_err());
        assert!(verify(b"<a b=\"\xff\"/>".as_slice(), LIMITS).is_err());
    }
}
