//! Fonts, as far as reading text needs them: which character a code means, and how far it moves the pen.
//!
//! Outlines are never looked at. [`simple`] fonts have one byte per character and [`composite`] ones any number; both end
//! as tables in here, so that showing a string costs a look-up per code.

mod composite;
mod face;
mod latin;
mod program;
mod shelf;
mod simple;
mod type3;
mod unicode;

pub(crate) use face::Face;
pub(crate) use shelf::Shelf;

use composite::Composite;

/// A font in use.
pub(crate) struct Font {
    /// Its place in the document's list of fonts.
    pub(crate) number: u16,
    /// Above the baseline, in ems.
    pub(crate) ascent: f32,
    /// Below the baseline, in ems; negative.
    pub(crate) descent: f32,
    /// What the font size must be multiplied with to be comparable: Type 3 fonts have units of their own.
    pub(crate) scale: f32,
    /// Whether lines run downwards.
    pub(crate) vertical: bool,
    pub(crate) codes: Codes,
    pub(crate) texts: Texts,
}

/// How the bytes of a string are cut into codes.
pub(crate) enum Codes {
    /// One byte each.
    Simple(Box<[Shape; 256]>),
    /// As a character map says.
    Composite(Box<Composite>),
}

/// What is known of one code.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Shape {
    /// The characters it stands for.
    pub(crate) text: Text,
    /// How far it moves the pen, in ems; downwards (negative) in vertical fonts.
    pub(crate) advance: f32,
}

/// A piece of a font's [`Texts`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Text {
    start: u32,
    length: u16,
}

/// The characters of all codes of a font, in one string.
#[derive(Debug, Default)]
pub(crate) struct Texts(String);

impl Texts {
    fn add(&mut self, text: &str) -> Text {
        let (Ok(start), Ok(length)) = (u32::try_from(self.0.len()), u16::try_from(text.len())) else {
            return Text::default();
        };
        self.0.push_str(text);
        Text { start, length }
    }

    /// Nothing for a code whose character is unknown.
    pub(crate) fn get(&self, text: Text) -> &str {
        let start = usize::try_from(text.start).unwrap_or(usize::MAX);
        self.0.get(start..start.saturating_add(usize::from(text.length))).unwrap_or_default()
    }
}

impl Font {
    /// The first code of `bytes`: its shape, its length in bytes, and whether it is a single-byte space, which word spacing
    /// widens. Nothing at the end.
    pub(crate) fn next(&mut self, bytes: &[u8]) -> Option<(Shape, usize, bool)> {
        let first = *bytes.first()?;
        match &mut self.codes {
            Codes::Simple(shapes) => {
                Some((shapes.get(usize::from(first)).copied().unwrap_or_default(), 1, first == b' '))
            }
            Codes::Composite(composite) => {
                let (shape, length) = composite.next(bytes, &mut self.texts);
                Some((shape, length, length == 1 && first == b' '))
            }
        }
    }
}
