//! The mapping `text`: everything we know, in a vocabulary of our own.
//!
//! Its schema is `schema/text.xsd`, which is built in and served. Coordinates are points from the upper left corner.

use std::io::{self, Write};

use super::number::{Steps, hundredths};
use super::xml::Xml;
use super::{language, names};
use crate::page::{Block, Direction, Document, Font, Line, Page, Rect, Role, Word};

/// The namespace of the elements. A change that breaks readers gets a new number.
const NAMESPACE: &str = "urn:redrive:text:1";

/// Writes the document. Answers how many characters were replaced.
pub(super) fn write(document: &Document, out: impl Write) -> io::Result<u64> {
    let mut xml = Xml::new(out)?;
    xml.open("document")?;
    xml.attribute("xmlns", NAMESPACE)?;
    xml.maybe("version", document.version.as_deref())?;
    xml.maybe("title", document.title.as_deref())?;
    xml.maybe("author", document.author.as_deref())?;
    xml.maybe("language", language::checked(document.language.as_deref()))?;
    xml.integer("pages", document.page_count)?;
    if !document.fonts.is_empty() {
        xml.open("fonts")?;
        for (id, font) in (0..=u16::MAX).zip(&document.fonts) {
            write_font(&mut xml, id, font)?;
        }
        xml.close()?;
    }
    for page in &document.pages {
        write_page(&mut xml, document, page)?;
    }
    xml.finish()
}

fn write_font<W: Write>(xml: &mut Xml<W>, id: u16, font: &Font) -> io::Result<()> {
    xml.open("font")?;
    xml.integer("id", id)?;
    xml.attribute("name", &font.name)?;
    xml.integer("weight", font.weight)?;
    for (name, holds) in [("italic", font.italic), ("fixed", font.fixed), ("serif", font.serif)] {
        if holds {
            xml.attribute(name, "true")?;
        }
    }
    xml.close()
}

fn write_page<W: Write>(xml: &mut Xml<W>, document: &Document, page: &Page) -> io::Result<()> {
    xml.open("page")?;
    xml.integer("number", page.number)?;
    xml.maybe("label", page.label.as_deref())?;
    xml.decimal("width", hundredths(page.width).max(0))?;
    xml.decimal("height", hundredths(page.height).max(0))?;
    for block in &page.blocks {
        write_block(xml, document, page, block)?;
    }
    xml.close()
}

fn write_block<W: Write>(
    xml: &mut Xml<W>,
    document: &Document,
    page: &Page,
    block: &Block,
) -> io::Result<()> {
    xml.open("block")?;
    write_box(xml, block.bounds)?;
    xml.attribute("role", names::role(block.role))?;
    match block.role {
        Role::Heading(level) => xml.integer("level", level.clamp(1, 6))?,
        Role::Cell { table, row, column } => {
            xml.integer("table", table)?;
            xml.integer("row", row)?;
            xml.integer("column", column)?;
        }
        Role::Paragraph | Role::ListItem | Role::Caption | Role::Note | Role::Artifact | Role::Figure => {}
    }
    if block.tagged {
        xml.attribute("tagged", "true")?;
    }
    for line in &block.lines {
        write_line(xml, document, page, line)?;
    }
    xml.close()
}

fn write_line<W: Write>(xml: &mut Xml<W>, document: &Document, page: &Page, line: &Line) -> io::Result<()> {
    xml.open("line")?;
    write_box(xml, line.bounds)?;
    xml.decimal("baseline", hundredths(line.baseline))?;
    xml.attribute("direction", names::direction(line.direction))?;
    match line.direction {
        Direction::Rotated(degrees) => xml.integer("angle", degrees % 360)?,
        Direction::LeftToRight | Direction::RightToLeft | Direction::Vertical => {}
    }
    for word in &line.words {
        write_word(xml, document, page, word)?;
    }
    xml.close()
}

fn write_word<W: Write>(xml: &mut Xml<W>, document: &Document, page: &Page, word: &Word) -> io::Result<()> {
    xml.open("word")?;
    write_box(xml, word.bounds)?;
    // A reference to nothing would not be valid.
    if usize::from(word.font) < document.fonts.len() {
        xml.integer("font", word.font)?;
    }
    xml.decimal("size", hundredths(word.size).max(0))?;
    xml.text(page.text_of(word))?;
    xml.close()
}

fn write_box<W: Write>(xml: &mut Xml<W>, bounds: Rect) -> io::Result<()> {
    let steps = Steps::of(bounds, hundredths);
    xml.decimal("x", steps.x)?;
    xml.decimal("y", steps.y)?;
    xml.decimal("width", steps.width)?;
    xml.decimal("height", steps.height)
}
