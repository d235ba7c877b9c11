//! The mapping `alto`: ALTO 4.4, places in 1/1200 inch.
//!
//! A table's cells stand in one `ComposedBlock`, roles are tags, and a word that was divided at a line's end says its whole
//! self in `SUBS_CONTENT`. The styles come first in the file, so they are collected in a walk of their own.

use std::collections::HashMap;
use std::io::{self, Write};

use super::join::{self, Seam};
use super::number::{Steps, hundredths, inch1200};
use super::xml::Xml;
use super::{language, names};
use crate::page::{Block, Direction, Document, Font, Line, Page, Rect, Role, Word};

const NAMESPACE: &str = "http://www.loc.gov/standards/alto/ns-v4#";

/// Writes the document. Answers how many characters were replaced.
pub(super) fn write(document: &Document, out: impl Write) -> io::Result<u64> {
    let mut xml = Xml::new(out)?;
    xml.open("alto")?;
    xml.attribute("xmlns", NAMESPACE)?;
    xml.attribute("SCHEMAVERSION", "4.4")?;
    xml.open("Description")?;
    xml.leaf("MeasurementUnit", "inch1200")?;
    xml.close()?;
    let styles = Styles::collect(document);
    styles.write(&mut xml, document)?;
    write_tags(&mut xml, document)?;
    xml.open("Layout")?;
    for (number, page) in (1_u32..).zip(&document.pages) {
        Sheet { document, styles: &styles, page, number, blocks: 0, lines: 0 }.write(&mut xml)?;
    }
    if document.pages.is_empty() {
        // The schema wants one.
        xml.open("Page")?;
        xml.attribute("ID", "p0")?;
        xml.attribute("PHYSICAL_IMG_NR", "0")?;
        xml.close()?;
    }
    xml.finish()
}

/// Every pair of font and size that a word is set in, in the order of first use.
struct Styles {
    order: Vec<(u16, i64)>,
    ids: HashMap<(u16, i64), usize>,
}

impl Styles {
    fn collect(document: &Document) -> Self {
        let mut styles = Self { order: Vec::new(), ids: HashMap::new() };
        let blocks = document.pages.iter().flat_map(|page| &page.blocks);
        for word in blocks.flat_map(|block| &block.lines).flat_map(|line| &line.words) {
            let style = Self::of(word);
            styles.ids.entry(style).or_insert_with(|| {
                styles.order.push(style);
                styles.order.len()
            });
        }
        styles
    }

    fn of(word: &Word) -> (u16, i64) {
        (word.font, hundredths(word.size).max(0))
    }

    fn id(&self, word: &Word) -> usize {
        self.ids.get(&Self::of(word)).copied().unwrap_or_default()
    }

    fn write<W: Write>(&self, xml: &mut Xml<W>, document: &Document) -> io::Result<()> {
        if self.order.is_empty() {
            return Ok(());
        }
        xml.open("Styles")?;
        for (id, &(font, size)) in (1..).zip(&self.order) {
            xml.open("TextStyle")?;
            xml.built("ID", format_args!("s{id}"))?;
            if let Some(font) = document.fonts.get(usize::from(font)) {
                write_font(xml, font)?;
            }
            xml.decimal("FONTSIZE", size)?;
            xml.close()?;
        }
        xml.close()
    }
}

fn write_font<W: Write>(xml: &mut Xml<W>, font: &Font) -> io::Result<()> {
    xml.attribute("FONTFAMILY", &font.name)?;
    xml.attribute("FONTTYPE", if font.serif { "serif" } else { "sans-serif" })?;
    xml.attribute("FONTWIDTH", if font.fixed { "fixed" } else { "proportional" })?;
    match (font.weight >= 600, font.italic) {
        (true, true) => xml.attribute("FONTSTYLE", "bold italics"),
        (true, false) => xml.attribute("FONTSTYLE", "bold"),
        (false, true) => xml.attribute("FONTSTYLE", "italics"),
        (false, false) => Ok(()),
    }
}

/// The tag of a role: its id is made of our own words.
fn tag(role: Role) -> String {
    match role {
        Role::Heading(level) => format!("heading-{}", level.clamp(1, 6)),
        Role::Paragraph
        | Role::ListItem
        | Role::Cell { .. }
        | Role::Caption
        | Role::Note
        | Role::Artifact
        | Role::Figure => names::role(role).to_owned(),
    }
}

fn write_tags<W: Write>(xml: &mut Xml<W>, document: &Document) -> io::Result<()> {
    let mut seen: Vec<String> = Vec::new();
    for block in document.pages.iter().flat_map(|page| &page.blocks) {
        let tag = tag(block.role);
        if !seen.contains(&tag) {
            seen.push(tag);
        }
    }
    if seen.is_empty() {
        return Ok(());
    }
    xml.open("Tags")?;
    for tag in &seen {
        xml.open("StructureTag")?;
        xml.attribute("ID", tag)?;
        xml.attribute("LABEL", tag)?;
        xml.close()?;
    }
    xml.close()
}

/// One page and the numbers of its ids.
struct Sheet<'a> {
    document: &'a Document,
    styles: &'a Styles,
    page: &'a Page,
    number: u32,
    blocks: u32,
    lines: u32,
}

impl Sheet<'_> {
    fn write<W: Write>(mut self, xml: &mut Xml<W>) -> io::Result<()> {
        let page = self.page;
        let (width, height) = (inch1200(page.width).max(0), inch1200(page.height).max(0));
        xml.open("Page")?;
        xml.built("ID", format_args!("p{}", self.number))?;
        xml.integer("PHYSICAL_IMG_NR", page.number)?;
        xml.maybe("PRINTED_IMG_NR", page.label.as_deref())?;
        xml.integer("HEIGHT", height)?;
        xml.integer("WIDTH", width)?;
        xml.maybe("LANG", language::checked(self.document.language.as_deref()))?;
        xml.open("PrintSpace")?;
        xml.integer("HEIGHT", height)?;
        xml.integer("WIDTH", width)?;
        xml.integer("HPOS", 0)?;
        xml.integer("VPOS", 0)?;
        for group in page.blocks.chunk_by(|a, b| same_table(a.role, b.role)) {
            match group {
                [block] if !matches!(block.role, Role::Cell { .. }) => self.write_block(xml, block)?,
                cells => self.write_table(xml, cells)?,
            }
        }
        xml.close()?;
        xml.close()
    }

    fn write_table<W: Write>(&mut self, xml: &mut Xml<W>, cells: &[Block]) -> io::Result<()> {
        let Some(bounds) = cells.iter().map(|cell| cell.bounds).reduce(Rect::union) else { return Ok(()) };
        xml.open("ComposedBlock")?;
        self.write_id(xml)?;
        write_box(xml, bounds)?;
        xml.attribute("TYPE", "table")?;
        for cell in cells {
            self.write_block(xml, cell)?;
        }
        xml.close()
    }

    fn write_block<W: Write>(&mut self, xml: &mut Xml<W>, block: &Block) -> io::Result<()> {
        let has_words = block.lines.iter().any(|line| !line.words.is_empty());
        let kind = match block.role {
            Role::Figure if !has_words => "Illustration",
            Role::Figure
            | Role::Paragraph
            | Role::Heading(_)
            | Role::ListItem
            | Role::Cell { .. }
            | Role::Caption
            | Role::Note
            | Role::Artifact => "TextBlock",
        };
        xml.open(kind)?;
        self.write_id(xml)?;
        xml.attribute("TAGREFS", &tag(block.role))?;
        write_box(xml, block.bounds)?;
        if let Some(degrees) = rotation(block) {
            xml.integer("ROTATION", degrees)?;
        }
        let mut whole: Option<String> = None;
        for (at, line) in block.lines.iter().enumerate() {
            let next = block.lines.iter().skip(at + 1).find(|line| !line.words.is_empty());
            if !line.words.is_empty() {
                whole = self.write_line(xml, line, whole, next)?;
            }
        }
        xml.close()
    }

    fn write_id<W: Write>(&mut self, xml: &mut Xml<W>) -> io::Result<()> {
        self.blocks += 1;
        xml.built("ID", format_args!("p{}b{}", self.number, self.blocks))
    }

    /// `whole` is the word that the line before began; answered is the one that this line begins.
    fn write_line<W: Write>(
        &mut self,
        xml: &mut Xml<W>,
        line: &Line,
        mut whole: Option<String>,
        next: Option<&Line>,
    ) -> io::Result<Option<String>> {
        self.lines += 1;
        xml.open("TextLine")?;
        xml.built("ID", format_args!("p{}l{}", self.number, self.lines))?;
        write_box(xml, line.bounds)?;
        write_direction(xml, line)?;
        let divided = self.divided(line, next);
        let mut before: Option<&Word> = None;
        let last = line.words.len() - 1;
        for (at, word) in line.words.iter().enumerate() {
            if let Some(before) = before {
                write_space(xml, line.direction, before.bounds, word.bounds)?;
            }
            before = Some(word);
            let begins = divided.as_deref().filter(|_| at == last);
            let ends = whole.take();
            xml.open("String")?;
            xml.built("STYLEREFS", format_args!("s{}", self.styles.id(word)))?;
            write_box(xml, word.bounds)?;
            let text = self.page.text_of(word);
            let (content, hyphen) = if begins.is_some() { join::split_hyphen(text) } else { (text, "") };
            xml.attribute("CONTENT", content)?;
            // A word of three lines has a middle part, for which ALTO has no word: it counts as a beginning.
            if let Some((kind, all)) =
                begins.map(|all| ("HypPart1", all)).or(ends.as_deref().map(|all| ("HypPart2", all)))
            {
                xml.attribute("SUBS_TYPE", kind)?;
                xml.attribute("SUBS_CONTENT", all)?;
            }
            xml.close()?;
            if begins.is_some() {
                xml.open("HYP")?;
                xml.attribute("CONTENT", hyphen)?;
                xml.close()?;
            }
        }
        xml.close()?;
        Ok(divided)
    }

    /// The whole word, when this line ends with the first part of it.
    fn divided(&self, line: &Line, next: Option<&Line>) -> Option<String> {
        let end = self.page.text_of(line.words.last()?);
        let start = self.page.text_of(next?.words.first()?);
        match join::seam(end, start) {
            Seam::Hyphen => Some(format!("{}{start}", join::split_hyphen(end).0)),
            Seam::Close | Seam::Blank => None,
        }
    }
}

fn same_table(a: Role, b: Role) -> bool {
    matches!((a, b), (Role::Cell { table: a, .. }, Role::Cell { table: b, .. }) if a == b)
}

/// Degrees counterclockwise, when all lines are turned alike.
fn rotation(block: &Block) -> Option<u16> {
    let turn = |line: &Line| match line.direction {
        Direction::Rotated(degrees) => Some((360 - degrees % 360) % 360),
        Direction::LeftToRight | Direction::RightToLeft | Direction::Vertical => None,
    };
    let first = turn(block.lines.first()?)?;
    block.lines.iter().all(|line| turn(line) == Some(first)).then_some(first)
}

fn write_direction<W: Write>(xml: &mut Xml<W>, line: &Line) -> io::Result<()> {
    let baseline = inch1200(line.baseline);
    match line.direction {
        Direction::LeftToRight => xml.integer("BASELINE", baseline),
        Direction::RightToLeft => {
            xml.integer("BASELINE", baseline)?;
            xml.attribute("BASEDIRECTION", "rtl")
        }
        Direction::Vertical => {
            let (top, bottom) = (inch1200(line.bounds.y0), inch1200(line.bounds.y1));
            xml.built("BASELINE", format_args!("{baseline},{top} {baseline},{bottom}"))?;
            xml.attribute("BASEDIRECTION", "ttb")
        }
        Direction::Rotated(_) => Ok(()),
    }
}

/// The gap between two words, where it has a width across the page.
fn write_space<W: Write>(
    xml: &mut Xml<W>,
    direction: Direction,
    before: Rect,
    after: Rect,
) -> io::Result<()> {
    let gap = match direction {
        Direction::LeftToRight => Some((inch1200(before.x1), inch1200(after.x0))),
        Direction::RightToLeft => Some((inch1200(after.x1), inch1200(before.x0))),
        Direction::Vertical | Direction::Rotated(_) => None,
    };
    xml.open("SP")?;
    if let Some((left, right)) = gap {
        xml.integer("WIDTH", (right - left).max(0))?;
        xml.integer("HPOS", left)?;
        xml.integer("VPOS", inch1200(before.y0))?;
    }
    xml.close()
}

fn write_box<W: Write>(xml: &mut Xml<W>, bounds: Rect) -> io::Result<()> {
    let steps = Steps::of(bounds, inch1200);
    xml.integer("HPOS", steps.x)?;
    xml.integer("VPOS", steps.y)?;
    xml.integer("WIDTH", steps.width)?;
    xml.integer("HEIGHT", steps.height)
}
