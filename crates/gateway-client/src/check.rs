//! Whether a body is one whole XML document.
//!
//! The gateway may be anybody's. What it sends is read to its end by a parser before the job may complete: a body that is
//! empty, breaks off, goes on after its root, or is no XML never becomes a result. Document types are refused: nobody who
//! downloads a result shall be made to expand entities. Only UTF-8 is taken, in every corner of the document, and only
//! characters that XML 1.0 knows: a result that the next parser refuses is none.

use std::collections::HashSet;
use std::io::BufRead;

use quick_xml::Reader;
use quick_xml::events::{BytesDecl, BytesStart, Event};

use crate::legal;

/// Elements inside each other.
const DEPTH: usize = 1_000;

/// Why a body is no XML document that we take.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// It ends too early: perhaps the wire cut it.
    #[error("it breaks off")]
    BreaksOff,
    /// There is no element.
    #[error("it is empty")]
    Empty,
    /// It is something else.
    #[error("{0}")]
    Other(String),
}

/// Reads the body to its end.
pub fn check(body: impl BufRead) -> Result<(), CheckError> {
    let mut reader = Reader::from_reader(body);
    reader.config_mut().enable_all_checks(true);
    let (mut buffer, mut seen) = (Vec::new(), Seen::default());
    loop {
        buffer.clear();
        let event = reader.read_event_into(&mut buffer).map_err(|error| broken(&error))?;
        if seen.take(&event)? {
            return Ok(());
        }
    }
}

/// [`check`] for a body that is in memory: nothing of it is copied.
pub fn check_whole(body: &[u8]) -> Result<(), CheckError> {
    let mut reader = Reader::from_reader(body);
    reader.config_mut().enable_all_checks(true);
    // All at once, which costs less than piece by piece.
    legal::text(body).map_err(other)?;
    let mut seen = Seen { looked: true, ..Seen::default() };
    while !seen.take(&reader.read_event().map_err(|error| broken(&error))?)? {}
    Ok(())
}

/// Where in the document we are.
#[derive(Default)]
struct Seen {
    /// Whether every character has been looked at.
    looked: bool,
    depth: usize,
    roots: usize,
}

impl Seen {
    /// Looks at the next event. Answers whether it was the document's end.
    fn take(&mut self, event: &Event<'_>) -> Result<bool, CheckError> {
        if !self.looked {
            legal::text(event).map_err(other)?;
        }
        let outside = || Err(other("there is text outside of its root element"));
        match event {
            Event::Eof if self.depth > 0 => return Err(CheckError::BreaksOff),
            Event::Eof if self.roots == 0 => return Err(CheckError::Empty),
            Event::Eof => return Ok(true),
            Event::Start(_) if self.depth == DEPTH => return Err(other("it is nested too deep")),
            Event::Start(_) | Event::Empty(_) if self.depth == 0 && self.roots == 1 => {
                return Err(other("it has a second root element"));
            }
            Event::Start(tag) => {
                self.roots += usize::from(self.depth == 0);
                self.depth += 1;
                names(tag)?;
            }
            Event::Empty(tag) => {
                self.roots += usize::from(self.depth == 0);
                names(tag)?;
            }
            Event::End(_) => self.depth = self.depth.saturating_sub(1),
            Event::DocType(_) => return Err(other("it has a document type")),
            Event::Text(text) if self.depth == 0 => {
                let text = legal::text(text).map_err(other)?;
                if !text.trim_start_matches('\u{feff}').trim().is_empty() {
                    return outside();
                }
            }
            Event::CData(_) | Event::GeneralRef(_) if self.depth == 0 => return outside(),
            Event::GeneralRef(name) => {
                let known = matches!(&**name, b"amp" | b"lt" | b"gt" | b"quot" | b"apos");
                match name.resolve_char_ref().map_err(other)? {
                    None if !known => return Err(other("it refers to an entity")),
                    Some(c) if !legal::is_legal(c) => return Err(other("it refers to no character")),
                    None | Some(_) => {}
                }
            }
            Event::Decl(decl) => encoding(decl)?,
            Event::Text(_) | Event::CData(_) | Event::Comment(_) | Event::PI(_) => {}
        }
        Ok(false)
    }
}

/// What an element and its attributes are called, and what these say.
fn names(tag: &BytesStart<'_>) -> Result<(), CheckError> {
    let named = |name: &[u8]| {
        if legal::is_name(name) { Ok(()) } else { Err(other("it has a name that is none")) }
    };
    named(tag.name().as_ref())?;
    let mut keys = Keys::default();
    // The parser's own look for twins would cost a list for every tag.
    for attribute in tag.attributes().with_checks(false) {
        let attribute = attribute.map_err(other)?;
        let key = attribute.key.into_inner();
        named(key)?;
        if !keys.is_new(key) {
            return Err(other("a tag has an attribute twice"));
        }
        if attribute.value.contains(&b'<') {
            return Err(other("there is a tag within a tag"));
        }
        // The tag's own characters have been looked at: only a reference can bring in others.
        if attribute.value.contains(&b'&') {
            let value = legal::text(&attribute.value).map_err(other)?;
            let meant = quick_xml::escape::unescape(value).map_err(other)?;
            legal::text(meant.as_bytes()).map_err(other)?;
        }
    }
    Ok(())
}

/// The attributes of one tag so far: a few in place, which is all that most tags have, and the rest in a set.
#[derive(Default)]
struct Keys<'a> {
    few: [&'a [u8]; 8],
    count: usize,
    many: HashSet<&'a [u8]>,
}

impl<'a> Keys<'a> {
    fn is_new(&mut self, key: &'a [u8]) -> bool {
        let few = self.few.get(..self.count).unwrap_or(&self.few);
        if few.contains(&key) {
            return false;
        }
        match self.few.get_mut(self.count) {
            Some(place) => {
                *place = key;
                self.count += 1;
                true
            }
            None => self.many.insert(key),
        }
    }
}

fn encoding(decl: &BytesDecl<'_>) -> Result<(), CheckError> {
    let Some(name) = decl.encoding() else { return Ok(()) };
    let name = name.map_err(other)?;
    let known = [&b"utf-8"[..], b"utf8", b"us-ascii"].iter().any(|known| name.eq_ignore_ascii_case(known));
    if known { Ok(()) } else { Err(other("it says that it is not in UTF-8")) }
}

/// A document that ends in the middle of a tag is reported as a syntax error: for us it breaks off.
fn broken(error: &quick_xml::Error) -> CheckError {
    match error {
        quick_xml::Error::Syntax(_) => CheckError::BreaksOff,
        quick_xml::Error::Io(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            CheckError::BreaksOff
        }
        error => other(error),
    }
}

fn other(error: impl std::fmt::Display) -> CheckError {
    CheckError::Other(format!("it is no XML: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both forms say the same.
    fn check(body: &[u8]) -> Result<(), CheckError> {
        let (whole, streamed) = (check_whole(body), super::check(body));
        let kind = |said: &Result<(), CheckError>| said.as_ref().err().map(std::mem::discriminant);
        assert_eq!(kind(&whole), kind(&streamed), "{whole:?} {streamed:?}");
        whole
    }

    fn is_ok(text: &str) -> bool {
        check(text.as_bytes()).is_ok()
    }

    #[test]
    fn whole_documents_of_others_pass() {
        for text in [
            "<a/>",
            "\u{feff}<?xml version=\"1.0\"?>\n<!-- hello -->\n<é ü=\"1\"><![CDATA[<]]>&amp;&#8364;<?x y?></é>\n<!-- end -->\n",
            "<a xmlns:x=\"y\"><x:b c='&quot;'/></a>",
            "<a a='' b='' c='' d='' e='' f='' g='' h='' i='' j=''/>",
        ] {
            check(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
    }

    /// Also covers: M35.
    #[test]
    fn what_breaks_off_is_told_from_what_is_no_xml() {
        for text in ["<a>", "<a><b></b>", "<a", "<a b=\"", "<a><!-- ", "<a><![CDATA[x"] {
            assert!(matches!(check(text.as_bytes()), Err(CheckError::BreaksOff)), "{text:?}");
        }
        for text in ["", " \n", "\u{feff}", "<?xml version=\"1.0\"?>\n"] {
            assert!(matches!(check(text.as_bytes()), Err(CheckError::Empty)), "{text:?}");
        }
        for text in [
            "{\"error\": 1}",
            "<a/><a/>",
            "<a/>x",
            "<a></b>",
            "<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>",
            "<a>&b;</a>",
            "<a b='1' b='2'/>",
            "<a a='' b='' c='' d='' e='' f='' g='' h='' i='' j='' a=''/>",
            "<a a='' b='' c='' d='' e='' f='' g='' h='' i='' j='' j=''/>",
            "<html><body><p>502 Bad Gateway<hr></body></html>",
        ] {
            assert!(!is_ok(text), "{text:?}");
            assert!(matches!(check(text.as_bytes()), Err(CheckError::Other(_))), "{text:?}");
        }
        for bytes in [
            &b"<a>caf\xe9</a>"[..],
            b"<a b=\"caf\xe9\"/>",
            b"<a><!-- caf\xe9 --></a>",
            b"<a><![CDATA[caf\xe9]]></a>",
            b"<caf\xe9/>",
            b"<a><?b caf\xe9?></a>",
            b"\xff\xfe<\0a\0/\0>\0",
            b"<?xml version=\"1.0\" encoding=\"UTF-16\"?><a/>",
            b"<a>\x01</a>",
            b"<a>&#1;</a>",
            b"<a b='&#1;'/>",
            b"<a b='&c;'/>",
            b"<a b='<'/>",
            b"<1/>",
            b"<a 1='2'/>",
        ] {
            let said = check(bytes);
            assert!(
                matches!(said, Err(CheckError::Other(_))),
                "{:?} {said:?}",
                String::from_utf8_lossy(bytes)
            );
        }
        assert!(!is_ok(&format!("{}{}", "<a>".repeat(1_001), "</a>".repeat(1_001))));
    }
}
