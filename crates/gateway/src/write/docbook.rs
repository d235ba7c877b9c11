//! The mapping `docbook`: a DocBook 5.0 article, sections by headings.
//!
//! DocBook has no pages, so that page numbers and running heads are left out. Every section has a title and something in it:
//! an empty paragraph where the document has nothing.

use std::io::{self, Write};

use super::flow::{self, Piece};
use super::grid::Grid;
use super::outline::Outline;
use super::xml::Xml;
use super::{join, language};
use crate::page::{Block, Document, Page};

const NAMESPACE: &str = "http://docbook.org/ns/docbook";

/// Writes the document. Answers how many characters were replaced.
pub(super) fn write(document: &Document, out: impl Write) -> io::Result<u64> {
    let mut xml = Xml::new(out)?;
    xml.open("article")?;
    xml.attribute("xmlns", NAMESPACE)?;
    xml.attribute("version", "5.0")?;
    xml.maybe("xml:lang", language::checked(document.language.as_deref()))?;
    xml.open("info")?;
    xml.leaf("title", document.title.as_deref().unwrap_or("Untitled"))?;
    if let Some(author) = &document.author {
        xml.open("author")?;
        xml.leaf("personname", author)?;
        xml.close()?;
    }
    xml.close()?;
    let mut article = Article { xml, outline: Outline::default(), empty: true };
    for page in &document.pages {
        for piece in flow::pieces(&page.blocks) {
            article.write_piece(page, piece)?;
        }
    }
    for _ in 0..article.outline.depth() {
        article.close_section()?;
    }
    article.fill()?;
    article.xml.finish()
}

/// The article on its way out.
struct Article<W: Write> {
    xml: Xml<W>,
    outline: Outline,
    /// Whether the innermost open section has nothing but its title.
    empty: bool,
}

impl<W: Write> Article<W> {
    fn write_piece(&mut self, page: &Page, piece: Piece<'_>) -> io::Result<()> {
        match piece {
            Piece::Heading(level, block) => self.write_heading(page, level, block),
            Piece::Paragraph(block) => self.write_para(page, block, None),
            Piece::Caption(block) => self.write_para(page, block, Some("caption")),
            Piece::Note(block) => self.write_note(page, block),
            Piece::Artifact(_) => Ok(()),
            Piece::List(items) => {
                self.begin("itemizedlist")?;
                for item in items {
                    self.xml.open("listitem")?;
                    self.write_element(page, "para", [item])?;
                    self.xml.close()?;
                }
                self.xml.close()
            }
            Piece::Table { cells, caption } => self.write_table(page, cells, caption),
            Piece::Figure { figure, caption } => self.write_figure(page, figure, caption),
        }
    }

    fn write_heading(&mut self, page: &Page, level: u8, block: &Block) -> io::Result<()> {
        if join::is_blank(page, block) {
            return Ok(());
        }
        for _ in 0..self.outline.heading(level) {
            self.close_section()?;
        }
        self.begin("section")?;
        self.empty = true;
        self.write_element(page, "title", [block])
    }

    fn close_section(&mut self) -> io::Result<()> {
        self.fill()?;
        self.xml.close()
    }

    /// Something for a section that has nothing. What encloses a section has that section.
    fn fill(&mut self) -> io::Result<()> {
        if self.empty {
            self.begin("para")?;
            self.xml.close()?;
        }
        Ok(())
    }

    fn write_para(&mut self, page: &Page, block: &Block, role: Option<&str>) -> io::Result<()> {
        if join::is_blank(page, block) {
            return Ok(());
        }
        self.begin("para")?;
        self.xml.maybe("role", role)?;
        self.write_joined(page, [block])?;
        self.xml.close()
    }

    fn write_note(&mut self, page: &Page, block: &Block) -> io::Result<()> {
        if join::is_blank(page, block) {
            return Ok(());
        }
        self.begin("para")?;
        self.xml.open("footnote")?;
        self.write_element(page, "para", [block])?;
        self.xml.close()?;
        self.xml.close()
    }

    fn write_table(&mut self, page: &Page, cells: &[Block], caption: Option<&Block>) -> io::Result<()> {
        let grid = Grid::new(cells);
        match caption {
            Some(caption) => {
                self.begin("table")?;
                self.write_element(page, "title", [caption])?;
            }
            None => self.begin("informaltable")?,
        }
        self.xml.open("tgroup")?;
        self.xml.integer("cols", i64::try_from(grid.columns()).unwrap_or(i64::MAX))?;
        self.xml.open("tbody")?;
        for row in grid.rows() {
            self.xml.open("row")?;
            for cell in row {
                self.write_element(page, "entry", cell)?;
            }
            self.xml.close()?;
        }
        self.xml.close()?;
        self.xml.close()?;
        self.xml.close()
    }

    fn write_figure(&mut self, page: &Page, figure: &Block, caption: Option<&Block>) -> io::Result<()> {
        match caption {
            Some(caption) => {
                self.begin("figure")?;
                self.write_element(page, "title", [caption])?;
            }
            None => self.begin("informalfigure")?,
        }
        self.xml.open("mediaobject")?;
        self.xml.open("textobject")?;
        self.write_element(page, "phrase", [figure])?;
        self.xml.close()?;
        self.xml.close()?;
        self.xml.close()
    }

    fn begin(&mut self, name: &'static str) -> io::Result<()> {
        self.empty = false;
        self.xml.open(name)
    }

    fn write_element<'a>(
        &mut self,
        page: &'a Page,
        name: &'static str,
        blocks: impl IntoIterator<Item = &'a Block>,
    ) -> io::Result<()> {
        self.xml.open(name)?;
        self.write_joined(page, blocks)?;
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
