//! What a page's content draws: glyphs, in the order of drawing.

/// One glyph on the page, in the page's own coordinates: points from the upper left corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Glyph {
    /// Where its baseline begins.
    pub(crate) x: f32,
    pub(crate) y: f32,
    /// How far it reaches along its line.
    pub(crate) advance: f32,
    /// The font's size as seen.
    pub(crate) size: f32,
    /// From the baseline to its upper edge.
    pub(crate) ascent: f32,
    /// From the baseline to its lower edge; negative when that is below.
    pub(crate) descent: f32,
    /// Where the text begins in [`Drawn::text`], and its length.
    pub(crate) text: u32,
    pub(crate) length: u16,
    /// The font's number.
    pub(crate) font: u16,
    /// How its line runs: degrees clockwise from left-to-right.
    pub(crate) angle: u16,
    /// Upright glyphs in a line that runs downwards; the angle is then 90.
    pub(crate) vertical: bool,
    /// Index into [`Drawn::marks`].
    pub(crate) mark: u32,
}

/// A number of marked content. Forms may count on their own; then the form's object number tells whose number it is, and for
/// the page itself it is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mcid {
    pub(crate) stream: u32,
    pub(crate) number: u32,
}

/// What the content says about a glyph besides its looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The number by which the structure tree speaks of it.
    pub(crate) mcid: Option<Mcid>,
    /// Said not to belong to the text.
    pub(crate) artifact: bool,
}

/// Everything that one page draws.
#[derive(Debug, Default)]
pub(crate) struct Drawn {
    pub(crate) glyphs: Vec<Glyph>,
    pub(crate) text: String,
    /// The first is "no mark".
    pub(crate) marks: Vec<Mark>,
    /// Glyphs without a known character.
    pub(crate) unmapped: u64,
    /// Characters that XML does not allow.
    pub(crate) replaced: u64,
}

impl Drawn {
    /// Empties everything for the next page; the memory stays.
    pub(crate) fn clear(&mut self) {
        self.glyphs.clear();
        self.text.clear();
        self.marks.clear();
        self.marks.push(Mark { mcid: None, artifact: false });
    }

    /// The characters of a glyph.
    pub(crate) fn text_of(&self, glyph: &Glyph) -> &str {
        let start = usize::try_from(glyph.text).unwrap_or(usize::MAX);
        self.text.get(start..start.saturating_add(usize::from(glyph.length))).unwrap_or_default()
    }

    /// Adds text and says where it lies. Characters that no XML document may hold become U+FFFD.
    pub(crate) fn add_text(&mut self, text: &str) -> (u32, u16) {
        let start = self.text.len();
        if text.bytes().all(|b| (0x20..0x80).contains(&b)) {
            self.text.push_str(text);
        } else {
            for character in text.chars() {
                let allowed = is_xml(character);
                self.replaced += u64::from(!allowed);
                self.text.push(if allowed { character } else { char::REPLACEMENT_CHARACTER });
            }
        }
        let length = u16::try_from(self.text.len() - start).unwrap_or(0);
        (u32::try_from(start).unwrap_or(u32::MAX), length)
    }

    /// The text that stands for a glyph without a known character.
    pub(crate) fn add_unmapped(&mut self) -> (u32, u16) {
        self.unmapped += 1;
        let start = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
        self.text.push(char::REPLACEMENT_CHARACTER);
        (start, 3)
    }

    /// The number of a mark.
    pub(crate) fn add_mark(&mut self, mark: Mark) -> u32 {
        if self.marks.last() != Some(&mark) {
            self.marks.push(mark);
        }
        u32::try_from(self.marks.len().saturating_sub(1)).unwrap_or(0)
    }
}

/// What XML 1.0 allows.
fn is_xml(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
}
