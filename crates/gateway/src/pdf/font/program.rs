//! What an embedded font program knows about its glyphs' characters.
//!
//! The last resort, for fonts that come without a map to characters: the program's own map from characters to glyphs is
//! turned around, and what that leaves open is filled by glyph names.

use crate::pdf::limits::Budget;
use crate::pdf::refusal::Refusal;
use crate::pdf::unpack::unpack;
use hayro_syntax::object::{Dict, Stream};
use skrifa::raw::ps::agl;
use std::collections::HashMap;
use std::sync::Arc;

/// More characters than any font has; hostile ones claim more.
const MOST: usize = 200_000;

/// The characters of a program's glyphs.
pub(super) struct Program {
    font: skrifa::Font,
    characters: HashMap<u32, String>,
}

impl Program {
    /// The program that a descriptor embeds.
    pub(super) fn of(descriptor: &Dict<'_>, budget: &Budget) -> Result<Option<Self>, Refusal> {
        let stream =
            ["FontFile2", "FontFile3", "FontFile"].iter().find_map(|key| descriptor.get::<Stream<'_>>(key));
        let Some(stream) = stream else { return Ok(None) };
        let Some(data) = unpack(&stream, budget)? else { return Ok(None) };
        Ok(Self::new(data.into_owned()))
    }

    fn new(data: Vec<u8>) -> Option<Self> {
        let data: Arc<dyn AsRef<[u8]> + Send + Sync> = Arc::new(data);
        let font = skrifa::Font::new(data, 0)?;
        let mut characters: HashMap<u32, String> = HashMap::new();
        for (code, glyph) in font.charmap().unicodes().take(MOST) {
            let Some(character) = char::from_u32(code) else { continue };
            let known = characters.get(&glyph.to_u32()).and_then(|known| known.chars().next());
            if known.is_none_or(|known| rank(character) < rank(known)) {
                characters.insert(glyph.to_u32(), character.to_string());
            }
        }
        for (glyph, name) in font.glyph_names().take(MOST) {
            characters.entry(glyph.to_u32()).or_insert_with(|| agl::name_to_chars(name.as_str()).collect());
        }
        Some(Self { font, characters })
    }

    /// The characters of a glyph.
    pub(super) fn glyph(&self, glyph: u32) -> Option<&str> {
        self.characters.get(&glyph).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// The glyph of a character number, when the program itself is made of such.
    pub(super) fn by_cid(&self, cid: u32) -> Option<u32> {
        if self.font.is_cid_keyed() {
            self.font.glyph_by_cid(cid).map(|glyph| glyph.to_u32())
        } else {
            Some(cid)
        }
    }
}

/// Of several characters that share a glyph the most ordinary one is meant: a space rather than a no-break space, a letter
/// rather than something of the private area.
fn rank(character: char) -> (u8, u32) {
    let class = match u32::from(character) {
        0..0x20 | 0xA0 | 0xAD => 3,
        0xE000..0xF900 | 0xF0000.. => 4,
        0xF900..0xFB00 | 0xFE00..0xFF00 => 2,
        _ => 1,
    };
    (class, u32::from(character))
}

#[cfg(test)]
mod tests {
    use super::rank;

    #[test]
    fn the_ordinary_character_is_preferred() {
        assert!(rank(' ') < rank('\u{A0}'));
        assert!(rank('\u{2126}') < rank('\u{F057}'));
        assert!(rank('A') < rank('\u{391}'));
    }
}
