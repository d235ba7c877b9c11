//! Fonts with one byte per character.
//!
//! The table of 256 codes comes from `hayro-font`, which knows the standard encodings, Adobe's list of glyph names, the
//! widths of the 14 standard fonts and the encodings inside of embedded programs.

use super::program::Program;
use super::type3::Names;
use super::unicode::ToUnicode;
use super::{Shape, Texts, latin};
use crate::pdf::limits::Budget;
use crate::pdf::refusal::Refusal;
use crate::pdf::unpack::weigh;
use hayro_cmap::BfString;
use hayro_font::{CMapResolverFn, FontCache, FontGlyph, FontQuery, FontResolverFn};
use hayro_syntax::object::{Array, Dict, FromBytes, Name, Object, Stream};
use std::sync::Arc;

/// What stands in for a font that cannot be read at all.
const PLAIN: &[u8] = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>";

/// All codes of a font.
pub(super) fn read(
    font: &Dict<'_>,
    texts: &mut Texts,
    budget: &Budget,
) -> Result<Box<[Shape; 256]>, Refusal> {
    let mut shapes = Box::new([Shape::default(); 256]);
    let to_unicode = ToUnicode::of(font, budget)?;
    let cache = FontCache::new();
    let (fonts, maps) = resolvers();
    let known = if bearable(font, budget)? { cache.font(font, &fonts, &maps) } else { None };
    let broken = known.is_none();
    let known = known.or_else(|| cache.font(&Dict::from_bytes(PLAIN)?, &fonts, &maps));
    let widths = widths(font);
    let mut unnamed = Unnamed::new(font);
    let subtype = font.get::<Name<'_>>("Subtype");
    // A TrueType font that says nothing of its encoding was made for Windows.
    let windows = subtype.as_deref() == Some(b"TrueType") && !font.contains_key("Encoding");
    // The glyphs of a Type 3 font have any name; its codes are mostly those of their characters.
    let drawn = subtype.as_deref() == Some(b"Type3");
    let names = if drawn { Names::of(font) } else { Names::default() };
    for (code, shape) in (0_u32..).zip(shapes.iter_mut()) {
        let glyph = known.as_ref().map(|known| known.glyph(known.map_code(code), code));
        let named = || match glyph.as_ref()? {
            FontGlyph::Outline(glyph) => glyph.as_unicode(),
            FontGlyph::Type3(glyph) => glyph.as_unicode(),
        };
        let text = match to_unicode.as_ref().and_then(|map| map.get(code)) {
            Some(text) => Some(text),
            None => match named() {
                _ if windows && latin::character(code).is_some() => latin::character(code).map(String::from),
                Some(BfString::Char('\0')) | None => match unnamed.get(code, glyph.as_ref(), budget)? {
                    None if drawn => names.letter(code).or_else(|| latin::character(code)).map(String::from),
                    found => found,
                },
                // In the standard encodings this code is a second place for the hyphen that is seen.
                Some(BfString::Char('\u{AD}')) => Some("-".to_owned()),
                Some(BfString::Char(character)) => Some(character.to_string()),
                Some(BfString::String(text)) => Some(text),
            },
        };
        if let Some(text) = text {
            shape.text = texts.add(&text);
        }
        let width = if broken { widths.get(code) } else { None };
        let advance = || known.as_ref().map_or(0.0, |known| known.code_advance(code).x as f32);
        let width = width.unwrap_or_else(advance) / 1000.0;
        shape.advance = if width.is_finite() { width } else { 0.0 };
    }
    Ok(shapes)
}

fn resolvers() -> (FontResolverFn, CMapResolverFn) {
    let fonts: FontResolverFn = Arc::new(|query: &FontQuery| match query {
        FontQuery::Standard(font) => Some(font.get_font_data()),
        FontQuery::Fallback(query) => Some(query.pick_standard_font().get_font_data()),
    });
    // Maps are read by us: a font with a large one must not be able to build it twice.
    let maps: CMapResolverFn = Arc::new(|_| None);
    (fonts, maps)
}

/// Whether the font's dictionary can be handed on: numbers that would be taken for sizes must be small, and streams must
/// not unpack to more than they may.
fn bearable(font: &Dict<'_>, budget: &Budget) -> Result<bool, Refusal> {
    let descriptor: Dict<'_> = font.get("FontDescriptor").unwrap_or_default();
    for key in ["FontFile", "FontFile2", "FontFile3"] {
        if let Some(stream) = descriptor.get::<Stream<'_>>(key) {
            weigh(&stream, budget.limits())?;
        }
    }
    let number = |key: &str| font.get::<Object<'_>>(key).map(|o| o.into_number().map(|n| n.as_i64()));
    let byte = |key: &str| match number(key) {
        None => true,
        Some(number) => number.is_some_and(|number| (0..=65_535).contains(&number)),
    };
    let ordered = match (number("FirstChar").flatten(), number("LastChar").flatten()) {
        (Some(first), Some(last)) => first <= last,
        _ => true,
    };
    Ok(byte("FirstChar") && byte("LastChar") && ordered)
}

/// The widths that the font states itself.
struct Widths {
    first: u32,
    widths: Vec<f32>,
}

fn widths(font: &Dict<'_>) -> Widths {
    let first = font.get::<u32>("FirstChar").unwrap_or(0);
    let widths = font.get::<Array<'_>>("Widths").map(|w| w.iter::<f32>().take(256).collect());
    Widths { first, widths: widths.unwrap_or_default() }
}

impl Widths {
    fn get(&self, code: u32) -> Option<f32> {
        let at = usize::try_from(code.checked_sub(self.first)?).ok()?;
        self.widths.get(at).copied()
    }
}

/// Codes that neither a map nor a glyph's name explains: the program may know its glyph's character.
struct Unnamed<'a> {
    descriptor: Option<Dict<'a>>,
    program: Option<Option<Program>>,
}

impl<'a> Unnamed<'a> {
    fn new(font: &Dict<'a>) -> Self {
        let outlines = font.get::<Name<'_>>("Subtype").is_some_and(|name| name.as_ref() != b"Type3");
        let descriptor = if outlines { font.get("FontDescriptor") } else { None };
        Self { descriptor, program: None }
    }

    fn get(
        &mut self,
        code: u32,
        glyph: Option<&FontGlyph<'_>>,
        budget: &Budget,
    ) -> Result<Option<String>, Refusal> {
        let (Some(FontGlyph::Outline(glyph)), Some(descriptor)) = (glyph, &self.descriptor) else {
            return Ok(None);
        };
        let glyph = glyph.glyph_id().to_u32();
        if glyph == 0 || code == 0 {
            return Ok(None);
        }
        if self.program.is_none() {
            self.program = Some(Program::of(descriptor, budget)?);
        }
        Ok(self.program.as_ref().and_then(Option::as_ref).and_then(|p| p.glyph(glyph)).map(ToOwned::to_owned))
    }
}
