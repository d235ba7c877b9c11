//! Elements, written as they come: nothing is kept but the names of the open ones.
//!
//! Names are `&'static str`, so that no text of a document can become one. Every value goes through the escaper.

use std::io::{self, Write};

use super::chars::{self, Place};
use super::number;

/// An XML document on its way out.
pub(crate) struct Xml<W: Write> {
    out: W,
    open: Vec<&'static str>,
    state: State,
    replaced: u64,
}

/// What was written last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// A start tag that may still take attributes.
    Tag,
    /// Text, or an element inside text: blanks would be content here.
    Text,
    /// A whole element, or nothing yet.
    Between,
}

impl<W: Write> Xml<W> {
    /// Begins a document with its declaration.
    pub(crate) fn new(mut out: W) -> io::Result<Self> {
        out.write_all(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
        Ok(Self { out, open: Vec::new(), state: State::Between, replaced: 0 })
    }

    /// Opens an element on a line of its own.
    pub(crate) fn open(&mut self, name: &'static str) -> io::Result<()> {
        if self.end_tag()? != State::Text {
            self.line()?;
        }
        self.out.write_all(b"<")?;
        self.out.write_all(name.as_bytes())?;
        self.open.push(name);
        self.state = State::Tag;
        Ok(())
    }

    /// An attribute of the element that was just opened.
    pub(crate) fn attribute(&mut self, name: &'static str, value: &str) -> io::Result<()> {
        self.named(name, |xml| {
            xml.replaced += chars::write_escaped(&mut xml.out, value, Place::Attribute)?;
            Ok(())
        })
    }

    /// An attribute if there is a value.
    pub(crate) fn maybe(&mut self, name: &'static str, value: Option<&str>) -> io::Result<()> {
        value.map_or(Ok(()), |value| self.attribute(name, value))
    }

    /// An attribute with a whole number.
    pub(crate) fn integer(&mut self, name: &'static str, value: impl Into<i64>) -> io::Result<()> {
        let value = value.into();
        self.named(name, |xml| write!(xml.out, "{value}"))
    }

    /// An attribute with a number of hundredths, written as a decimal.
    pub(crate) fn decimal(&mut self, name: &'static str, hundredths: i64) -> io::Result<()> {
        self.named(name, |xml| number::write_hundredths(&mut xml.out, hundredths))
    }

    /// An attribute that is built from our own words, such as an id.
    pub(crate) fn built(&mut self, name: &'static str, value: std::fmt::Arguments<'_>) -> io::Result<()> {
        match value.as_str() {
            Some(plain) => self.attribute(name, plain),
            None => self.attribute(name, &value.to_string()),
        }
    }

    /// Text of the element that is open. Until it is closed no blanks are added.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.end_tag()?;
        self.replaced += chars::write_escaped(&mut self.out, text, Place::Content)?;
        self.state = State::Text;
        Ok(())
    }

    /// Closes the innermost open element.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        let Some(name) = self.open.pop() else { return Ok(()) };
        match self.state {
            State::Tag => self.out.write_all(b"/>")?,
            State::Text => self.end(name)?,
            State::Between => {
                self.line()?;
                self.end(name)?;
            }
        }
        self.state = State::Between;
        Ok(())
    }

    /// An element that holds a text and nothing else.
    pub(crate) fn leaf(&mut self, name: &'static str, text: &str) -> io::Result<()> {
        self.open(name)?;
        self.text(text)?;
        self.close()
    }

    /// Closes what is open and ends the document. Answers how many characters were replaced.
    pub(crate) fn finish(mut self) -> io::Result<u64> {
        while !self.open.is_empty() {
            self.close()?;
        }
        self.out.write_all(b"\n")?;
        self.out.flush()?;
        Ok(self.replaced)
    }

    fn named(
        &mut self,
        name: &'static str,
        value: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> io::Result<()> {
        debug_assert_eq!(self.state, State::Tag, "an attribute outside of a start tag");
        self.out.write_all(b" ")?;
        self.out.write_all(name.as_bytes())?;
        self.out.write_all(b"=\"")?;
        value(self)?;
        self.out.write_all(b"\"")
    }

    fn end_tag(&mut self) -> io::Result<State> {
        if self.state == State::Tag {
            self.out.write_all(b">")?;
            self.state = State::Between;
        }
        Ok(self.state)
    }

    fn end(&mut self, name: &str) -> io::Result<()> {
        self.out.write_all(b"</")?;
        self.out.write_all(name.as_bytes())?;
        self.out.write_all(b">")
    }

    /// A new line, one blank for every element that is open.
    fn line(&mut self) -> io::Result<()> {
        const BLANKS: &[u8] = b"\n                                                                ";
        let length = (self.open.len() + 1).min(BLANKS.len());
        self.out.write_all(BLANKS.get(..length).unwrap_or(BLANKS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_stand_on_lines_and_texts_stay_as_they_are() {
        let mut out = Vec::new();
        let mut xml = Xml::new(&mut out).unwrap();
        xml.open("a").unwrap();
        xml.attribute("n", "\"1\"").unwrap();
        xml.leaf("b", " x\u{1} ").unwrap();
        xml.open("c").unwrap();
        xml.decimal("d", 150).unwrap();
        assert_eq!(xml.finish().unwrap(), 1);
        let text = String::from_utf8(out).unwrap();
        let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<a n=\"&quot;1&quot;\">\n <b> x\u{FFFD} </b>\n <c d=\"1.5\"/>\n</a>\n";
        assert_eq!(text, expected);
    }
}
