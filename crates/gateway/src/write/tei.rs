//! The mapping `tei`: TEI P5, the text and what its parts are.
//!
//! Pages are milestones (`pb`), headings open divisions, page numbers and running heads are `fw`, lines are joined.

use std::io::{self, Write};

use super::flow::{self, Piece};
use super::grid::Grid;
use super::outline::Outline;
use super::xml::Xml;
use super::{join, language};
use crate::page::{Block, Document, Page};

const NAMESPACE: &str = "http://www.tei-c.org/ns/1.0";

/// Writes the document. Answers how many characters were replaced.
pub(super) fn write(document: &Document, out: impl Write) -> io::Result<u64> {
    let mut xml = Xml::new(out)?;
    xml.open("TEI")?;
    xml.attribute("xmlns", NAMESPACE)?;
    xml.maybe("xml:lang", language::checked(document.language.as_deref()))?;
    write_header(&mut xml, document)?;
    xml.open("text")?;
    xml.open("body")?;
    let mut body = Body { xml, outline: Outline::default(), filled: false };
    for page in &document.pages {
        body.write_page(page)?;
    }
    if !body.filled {
        // An empty body is not valid, and neither is one of milestones alone.
        body.xml.open("p")?;
        body.xml.close()?;
    }
    body.xml.finish()
}

fn write_header<W: Write>(xml: &mut Xml<W>, document: &Document) -> io::Result<()> {
    xml.open("teiHeader")?;
    xml.open("fileDesc")?;
    xml.open("titleStmt")?;
    xml.leaf("title", document.title.as_deref().unwrap_or("Untitled"))?;
    if let Some(author) = &document.author {
        xml.leaf("author", author)?;
    }
    xml.close()?;
    xml.open("publicationStmt")?;
    xml.leaf("p", "Unpublished conversion of a PDF.")?;
    xml.close()?;
    xml.open("sourceDesc")?;
    xml.open("p")?;
    xml.text("A PDF")?;
    if let Some(version) = &document.version {
        xml.text(" of version ")?;
        xml.text(version)?;
    }
    xml.text(&match document.page_count {
        1 => " with 1 page.".to_owned(),
        count => format!(" with {count} pages."),
    })?;
    xml.close()?;
    xml.close()?;
    xml.close()?;
    xml.close()
}

/// The text on its way out.
struct Body<W: Write> {
    xml: Xml<W>,
    outline: Outline,
    /// Whether the body has something that makes it valid.
    filled: bool,
}

impl<W: Write> Body<W> {
    fn write_page(&mut self, page: &Page) -> io::Result<()> {
        self.xml.open("pb")?;
        match &page.label {
            Some(label) => self.xml.attribute("n", label)?,
            None => self.xml.integer("n", page.number)?,
        }
        self.xml.close()?;
        flow::pieces(&page.blocks).try_for_each(|piece| self.write_piece(page, piece))
    }

    fn write_piece(&mut self, page: &Page, piece: Piece<'_>) -> io::Result<()> {
        match piece {
            Piece::Heading(level, block) => self.write_heading(page, level, block),
            Piece::Paragraph(block) => self.write_text(page, "p", block, None),
            Piece::Caption(block) => self.write_text(page, "p", block, Some(("rend", "caption"))),
            Piece::Note(block) => self.write_text(page, "note", block, Some(("place", "bottom"))),
            Piece::Artifact(block) => self.write_text(page, "fw", block, None),
            Piece::List(items) => {
                self.filled = true;
                self.xml.open("list")?;
                for item in items {
                    self.xml.open("item")?;
                    self.write_joined(page, [item])?;
                    self.xml.close()?;
                }
                self.xml.close()
            }
            Piece::Table { cells, caption } => self.write_table(page, cells, caption),
            Piece::Figure { figure, caption } => {
                self.xml.open("figure")?;
                if let Some(caption) = caption {
                    self.write_text(page, "head", caption, None)?;
                }
                self.write_text(page, "figDesc", figure, None)?;
                self.xml.close()
            }
        }
    }

    fn write_heading(&mut self, page: &Page, level: u8, block: &Block) -> io::Result<()> {
        if join::is_blank(page, block) {
            return Ok(());
        }
        for _ in 0..self.outline.heading(level) {
            self.xml.close()?;
        }
        self.filled = true;
        self.xml.open("div")?;
        self.write_text(page, "head", block, None)
    }

    fn write_table(&mut self, page: &Page, cells: &[Block], caption: Option<&Block>) -> io::Result<()> {
        self.filled = true;
        self.xml.open("table")?;
        if let Some(caption) = caption {
            self.write_text(page, "head", caption, None)?;
        }
        for row in Grid::new(cells).rows() {
            self.xml.open("row")?;
            for cell in row {
                self.xml.open("cell")?;
                self.write_joined(page, cell)?;
                self.xml.close()?;
            }
            self.xml.close()?;
        }
        self.xml.close()
    }

    /// An element with a block's text; nothing when there is none.
    fn write_text(
        &mut self,
        page: &Page,
        name: &'static str,
        block: &Block,
        attribute: Option<(&'static str, &'static str)>,
    ) -> io::Result<()> {
        if join::is_blank(page, block) {
            return Ok(());
        }
        self.filled |= name == "p";
        self.xml.open(name)?;
        if let Some((name, value)) = attribute {
            self.xml.attribute(name, value)?;
        }
        self.write_joined(page, [block])?;
        self.xml.close()
    }

    fn write_joined<'a>(
        &mut self,
        page: &'a Page,
        blocks: impl IntoIterator<Item = &'a Block>,
    ) -> io::Result<()> {
        join::pieces(page, blocks, |text| self.xml.text(text))
    }
}
