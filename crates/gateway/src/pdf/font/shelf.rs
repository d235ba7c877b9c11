//! The fonts of one document, each read once.

use super::composite::Composite;
use super::{Codes, Face, Font, Texts, simple, type3};
use crate::pdf::limits::Budget;
use crate::pdf::refusal::Refusal;
use hayro_syntax::object::{Array, Dict, Name, ObjectIdentifier};
use std::collections::HashMap;

/// Fonts beyond this number share the last one's name: a word has two bytes for its font.
const MOST_FACES: usize = 60_000;

/// The fonts of one document.
#[derive(Default)]
pub(crate) struct Shelf {
    fonts: Vec<Font>,
    by_object: HashMap<ObjectIdentifier, usize>,
    faces: Vec<crate::page::Font>,
}

impl Shelf {
    /// The place of a font that a resource names. A font without an object of its own is read each time it is asked for.
    pub(crate) fn find<'a>(
        &mut self,
        font: impl FnOnce() -> Option<Dict<'a>>,
        id: Option<ObjectIdentifier>,
        budget: &Budget,
    ) -> Result<usize, Refusal> {
        if let Some(place) = id.and_then(|id| self.by_object.get(&id)) {
            return Ok(*place);
        }
        let read = self.read(&font().unwrap_or_default(), budget)?;
        let place = self.fonts.len();
        self.fonts.push(read);
        if let Some(id) = id {
            self.by_object.insert(id, place);
        }
        Ok(place)
    }

    pub(crate) fn get(&mut self, place: usize) -> Option<&mut Font> {
        self.fonts.get_mut(place)
    }

    /// How the fonts look; a font's number points in here.
    pub(crate) fn faces(&self) -> &[crate::page::Font] {
        &self.faces
    }

    fn read(&mut self, font: &Dict<'_>, budget: &Budget) -> Result<Font, Refusal> {
        let mut texts = Texts::default();
        let subtype = font.get::<Name<'_>>("Subtype");
        let inner =
            font.get::<Array<'_>>("DescendantFonts").and_then(|fonts| fonts.iter::<Dict<'_>>().next());
        if let Some(inner) = inner {
            let composite = Composite::read(font, &inner, budget)?;
            let face = Face::new(&inner, Some(font));
            let vertical = composite.vertical;
            return Ok(self.shelve(face, 1.0, vertical, Codes::Composite(Box::new(composite)), texts));
        }
        let shapes = simple::read(font, &mut texts, budget)?;
        let face = Face::new(font, None);
        let mut scale = 1.0;
        if subtype.as_deref() == Some(b"Type3") {
            let matrix: [f64; 6] = font.get("FontMatrix").unwrap_or([0.001, 0.0, 0.0, 0.001, 0.0, 0.0]);
            scale = type3::Names::of(font).scale(&shapes, matrix);
        }
        Ok(self.shelve(face, scale, false, Codes::Simple(shapes), texts))
    }

    fn shelve(&mut self, face: Face, scale: f32, vertical: bool, codes: Codes, texts: Texts) -> Font {
        let known = self.faces.iter().position(|known| *known == face.font);
        let place = known.unwrap_or_else(|| {
            if self.faces.len() < MOST_FACES {
                self.faces.push(face.font);
            }
            self.faces.len().saturating_sub(1)
        });
        let number = u16::try_from(place).unwrap_or(u16::MAX);
        Font { number, ascent: face.ascent, descent: face.descent, scale, vertical, codes, texts }
    }
}
