//! The page model: what a PDF says, after reading and before writing.
//!
//! Readers fill it, writers print it, and neither knows the other. Coordinates are points from the upper left corner of the
//! page as a reader sees it (crop box and rotation are already applied). A word costs a few dozen bytes, so that a document
//! of five million glyphs fits into the child's memory: its text lies in its page's one string.

use std::ops::Range;

/// A PDF's text and how it lies.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Document {
    /// The version that the file says it has, such as `1.7`.
    pub version: Option<String>,
    /// The title of the document's own description.
    pub title: Option<String>,
    /// Its author.
    pub author: Option<String>,
    /// Its language as a BCP 47 tag, when the file says one that is well-formed.
    pub language: Option<String>,
    /// How many pages the whole file has; more than `pages.len()` when only a range was read.
    pub page_count: u32,
    /// Every font that a word is set in, in the order of first use.
    pub fonts: Vec<Font>,
    /// The pages that were asked for, in order.
    pub pages: Vec<Page>,
    /// What a careful reader should know about the result.
    pub warnings: Warnings,
}

/// What went less well than hoped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Warnings {
    /// No page of what was read has any text.
    pub no_text_layer: bool,
    /// The file was damaged and has been repaired while reading.
    pub repaired: bool,
    /// Glyphs without a known character; each appears as U+FFFD.
    pub unmapped_glyphs: u64,
    /// Characters that XML 1.0 does not allow; each appears as U+FFFD.
    pub replaced_characters: u64,
    /// Pages that could not be read and are given as empty ones.
    pub unreadable_pages: u32,
}

/// A font as the file names it.
#[derive(Debug, Clone, PartialEq)]
pub struct Font {
    /// The name without a subset's prefix, such as `Times-BoldItalic`.
    pub name: String,
    /// 400 is regular, 700 bold.
    pub weight: u16,
    /// Slanted.
    pub italic: bool,
    /// All glyphs have one width.
    pub fixed: bool,
    /// Has serifs.
    pub serif: bool,
}

/// An upright rectangle; `x0 <= x1`, `y0 <= y1`, y grows downwards.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rect {
    /// Left.
    pub x0: f32,
    /// Upper.
    pub y0: f32,
    /// Right.
    pub x1: f32,
    /// Lower.
    pub y1: f32,
}

/// One page.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// Its place in the file, from 1.
    pub number: u32,
    /// What the file calls it, when that differs from the number (`iv`).
    pub label: Option<String>,
    /// In points, after rotation.
    pub width: f32,
    /// In points, after rotation.
    pub height: f32,
    /// The text of all words, one after the other; a word's [`text`](Word::text) points into it.
    pub text: String,
    /// In reading order.
    pub blocks: Vec<Block>,
}

/// Lines that belong together: a paragraph, a heading, a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Encloses its lines.
    pub bounds: Rect,
    /// What it is to the document.
    pub role: Role,
    /// Whether the file itself says so (tags), or it was guessed from how it looks.
    pub tagged: bool,
    /// In reading order.
    pub lines: Vec<Line>,
}

/// What a block is to the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// Running text.
    Paragraph,
    /// A heading of level 1 to 6.
    Heading(u8),
    /// An item of a list.
    ListItem,
    /// A cell of a table: row and column, from 0, and the number of the table on its page.
    Cell {
        /// Which table of the page.
        table: u16,
        /// From 0.
        row: u16,
        /// From 0.
        column: u16,
    },
    /// What a figure or table is called.
    Caption,
    /// A footnote.
    Note,
    /// Page numbers, running heads and the like: not part of the text.
    Artifact,
    /// A figure's replacement text.
    Figure,
}

/// One line of text, one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Encloses its words.
    pub bounds: Rect,
    /// Where the letters stand: y for horizontal text, x for vertical.
    pub baseline: f32,
    /// How it runs.
    pub direction: Direction,
    /// In logical (spoken) order.
    pub words: Vec<Word>,
}

/// How a line runs on the page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Direction {
    /// Latin and most others.
    #[default]
    LeftToRight,
    /// Hebrew, Arabic.
    RightToLeft,
    /// Top to bottom, as in Japanese books.
    Vertical,
    /// Set sideways or slanted, by so many degrees clockwise (1 to 359).
    Rotated(u16),
}

/// What stands between two gaps.
#[derive(Debug, Clone, PartialEq)]
pub struct Word {
    /// Where its text lies in the page's string; logical order, NFC is not applied.
    pub text: Range<u32>,
    /// Encloses its glyphs: advance widths across, the font's ascent and descent up and down.
    pub bounds: Rect,
    /// Index into [`Document::fonts`].
    pub font: u16,
    /// In points as seen on the page.
    pub size: f32,
}

impl Page {
    /// The word's text; nothing if the word is another page's.
    pub fn text_of(&self, word: &Word) -> &str {
        let start = usize::try_from(word.text.start).unwrap_or(usize::MAX);
        let end = usize::try_from(word.text.end).unwrap_or(usize::MAX);
        self.text.get(start..end).unwrap_or_default()
    }
}

impl Rect {
    /// The smallest rectangle around both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self {
            x0: self.x0.min(other.x0),
            y0: self.y0.min(other.y0),
            x1: self.x1.max(other.x1),
            y1: self.y1.max(other.y1),
        }
    }
}
