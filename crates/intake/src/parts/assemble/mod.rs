//! What a gateway made of ranges of a PDF's pages, put together as if it had made it of the whole.
//!
//! Only what we know is put together: the four vocabularies of the contract, as the built-in gateway writes them. Everything else is
//! [`Unjoined::Unknown`], and the PDF is converted as a whole instead: a document that was put together wrongly is worse than one
//! that took longer. Pages keep their numbers, ids stay unique, and what stands at the head of every part stands there once.
//!
//! Parts are read from their beginning to their end, twice at most, and nothing of their pages is kept: memory holds fonts, styles and
//! one element.

mod alto;
mod flow;
mod read;
mod table;
mod text;

use std::io::{self, BufRead, Write};

use quick_xml::events::Event;

use super::plan::Range;
use read::Reading;

/// Why parts could not be put together.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unjoined {
    /// They are something that we do not know how to join.
    #[error("the parts cannot be joined: {0}")]
    Unknown(String),
    /// A part could not be read, or the whole could not be written.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Unjoined {
    fn unknown(why: impl std::fmt::Display) -> Self {
        Self::Unknown(why.to_string())
    }
}

/// What parts are made in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Vocabulary {
    Text,
    Alto,
    Tei,
    Docbook,
}

impl Vocabulary {
    /// By the root element and its namespace.
    fn of(root: &str, namespace: Option<&str>) -> Option<Self> {
        match (root, namespace?) {
            ("document", "urn:redrive:text:1") => Some(Self::Text),
            ("alto", "http://www.loc.gov/standards/alto/ns-v4#") => Some(Self::Alto),
            ("TEI", "http://www.tei-c.org/ns/1.0") => Some(Self::Tei),
            ("article", "http://docbook.org/ns/docbook") => Some(Self::Docbook),
            _ => None,
        }
    }
}

/// Whether what a mapping makes can be put together: by the names of the contract. A gateway may call other things so; then it is
/// seen in its parts.
pub(super) fn is_joined(mapping: &str) -> bool {
    matches!(mapping, "text" | "alto" | "tei" | "docbook")
}

/// The parts: which pages each has, and its bytes, from their beginning whenever they are asked for.
pub(super) trait Parts {
    /// Their ranges, in order.
    fn ranges(&self) -> &[Range];

    /// The bytes of one.
    fn open(&mut self, part: usize) -> io::Result<Box<dyn BufRead + '_>>;
}

/// Puts the parts together.
pub(super) fn assemble(parts: &mut dyn Parts, out: &mut dyn Write) -> Result<(), Unjoined> {
    let root = Reading::of(parts, 0)?.root()?;
    for part in 1..parts.ranges().len() {
        if Reading::of(parts, part)?.root()? != root {
            return Err(Unjoined::unknown("their root elements differ"));
        }
    }
    let tag = quick_xml::events::BytesStart::from_content(root.as_str(), read::name_length(&root));
    let namespace = read::attribute(&tag, "xmlns")?;
    let vocabulary = Vocabulary::of(read::name(&tag)?, namespace.as_deref());
    out.write_all(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")?;
    read::write(out, Event::Start(tag))?;
    match vocabulary {
        Some(Vocabulary::Text) => text::join(parts, out)?,
        Some(Vocabulary::Alto) => alto::join(parts, out)?,
        Some(Vocabulary::Tei) => flow::tei(parts, out)?,
        Some(Vocabulary::Docbook) => flow::docbook(parts, out)?,
        None => return Err(Unjoined::unknown("their root element is none that we know")),
    }
    let name = root.get(..read::name_length(&root)).unwrap_or_default();
    write!(out, "\n</{name}>\n")?;
    Ok(())
}

#[cfg(test)]
mod tests;
