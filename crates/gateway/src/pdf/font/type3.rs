//! Type 3 fonts: glyphs are small drawings, in any unit and under any name.

use super::Shape;
use hayro_syntax::object::{Array, Dict, Object};
use std::collections::BTreeMap;

/// Entries beyond this number are not looked at; a font has 256 codes.
const MOST: usize = 1024;

/// The names of a font's glyphs, as far as they matter: which codes have one, and which name is a single character.
#[derive(Debug, Default)]
pub(super) struct Names(BTreeMap<u32, Option<char>>);

impl Names {
    pub(super) fn of(font: &Dict<'_>) -> Self {
        let mut names = BTreeMap::new();
        let encoding: Dict<'_> = font.get("Encoding").unwrap_or_default();
        let mut code = 0_u32;
        let differences = encoding.get::<Array<'_>>("Differences").unwrap_or_default();
        for item in differences.iter::<Object<'_>>().take(MOST) {
            match item {
                Object::Number(number) => code = u32::try_from(number.as_i64()).unwrap_or(u32::MAX),
                Object::Name(name) => {
                    let letter = if let [letter @ b'!'..=b'~'] = name.as_ref() {
                        Some(char::from(*letter))
                    } else {
                        None
                    };
                    names.insert(code, letter);
                    code = code.saturating_add(1);
                }
                _ => {}
            }
        }
        Self(names)
    }

    /// The character of a glyph that is named by it.
    pub(super) fn letter(&self, code: u32) -> Option<char> {
        self.0.get(&code).copied().flatten()
    }

    /// What the font's size must be multiplied with to be comparable with other fonts'. The width of an `m`, or of any letter,
    /// or else of any glyph, tells how large a reader finds it.
    pub(super) fn scale(&self, shapes: &[Shape; 256], matrix: [f64; 6]) -> f32 {
        let width = |wanted: &dyn Fn(Option<char>) -> bool| {
            self.0.iter().find_map(|(code, name)| {
                let shape = shapes.get(usize::try_from(*code).ok()?)?;
                (wanted(*name) && shape.advance.abs() > 0.0).then(|| shape.advance.abs())
            })
        };
        let scale = width(&|name| name == Some('m'))
            .map(|m| m / 0.6)
            .or_else(|| {
                width(&|name| name.is_some_and(|c| c.is_ascii_alphabetic())).map(|letter| letter / 0.5)
            })
            .or_else(|| width(&|_| true).map(|any| any / 0.5))
            .unwrap_or(1.0);
        let [across, _, _, up, ..] = matrix;
        let stretch = if across == 0.0 { 1.0 } else { (up / across).abs() as f32 };
        let scale = scale * stretch;
        if scale.is_finite() && scale > 0.0 { scale } else { 1.0 }
    }
}
