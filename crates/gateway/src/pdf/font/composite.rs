//! Fonts whose characters take any number of bytes: Chinese, Japanese, Korean, and nearly all modern subsets.

use super::program::Program;
use super::unicode::{Collection, ToUnicode, encoding};
use super::{Shape, Texts};
use crate::pdf::limits::Budget;
use crate::pdf::refusal::Refusal;
use crate::pdf::unpack::unpack;
use hayro_cmap::{CMap, WritingMode};
use hayro_syntax::object::{Array, Dict, Object, Stream};
use std::collections::BTreeMap;

/// Character numbers have two bytes.
const MOST_CIDS: u32 = 65_535;

/// A composite font.
pub(crate) struct Composite {
    encoding: CMap,
    /// Two bytes per code, which are the character's number: no need to ask the map.
    identity: bool,
    to_unicode: Option<ToUnicode>,
    collection: Option<Collection>,
    program: Option<Program>,
    glyphs: Option<Vec<u8>>,
    widths: Runs<f32>,
    width: f32,
    drops: Runs<[f32; 3]>,
    drop: [f32; 2],
    pub(super) vertical: bool,
    /// Codes of two bytes that were seen before, by their first byte.
    seen: Vec<Option<Box<[Option<Shape>; 256]>>>,
    /// Other codes that were seen before, by length and code.
    seen_others: BTreeMap<(usize, u32), Shape>,
}

impl Composite {
    pub(super) fn read(font: &Dict<'_>, inner: &Dict<'_>, budget: &Budget) -> Result<Self, Refusal> {
        let encoding = encoding(font, budget)?.unwrap_or_else(CMap::identity_h);
        let to_unicode = ToUnicode::of(font, budget)?;
        let collection = Collection::of(&encoding, inner);
        let descriptor: Dict<'_> = inner.get("FontDescriptor").unwrap_or_default();
        // Loading a program of many megabytes is worth it only when nothing else speaks.
        let program = if to_unicode.is_none() && collection.is_none() {
            Program::of(&descriptor, budget)?
        } else {
            None
        };
        let glyphs = match inner.get::<Stream<'_>>("CIDToGIDMap") {
            Some(stream) if program.is_some() => unpack(&stream, budget)?.map(std::borrow::Cow::into_owned),
            _ => None,
        };
        let name = encoding.metadata().name.as_deref().unwrap_or_default();
        let identity = name.starts_with(b"Identity");
        let vertical = encoding.metadata().writing_mode == Some(WritingMode::Vertical);
        Ok(Self {
            identity,
            vertical,
            encoding,
            to_unicode,
            collection,
            program,
            glyphs,
            widths: inner.get::<Array<'_>>("W").map(|w| widths(&w)).unwrap_or_default(),
            width: inner.get("DW").unwrap_or(1000.0),
            drops: inner.get::<Array<'_>>("W2").map(|w| drops(&w)).unwrap_or_default(),
            drop: inner.get("DW2").unwrap_or([880.0, -1000.0]),
            seen: (0..256).map(|_| None).collect(),
            seen_others: BTreeMap::new(),
        })
    }

    /// The first code of `bytes`, which are at least one, and its length.
    pub(super) fn next(&mut self, bytes: &[u8], texts: &mut Texts) -> (Shape, usize) {
        if self.identity {
            let (high, low) = (bytes.first().copied().unwrap_or(0), bytes.get(1).copied());
            let code = u16::from_be_bytes([high, low.unwrap_or(0)]);
            let length = if low.is_some() { 2 } else { 1 };
            return (self.shape_of_two(u32::from(code), high, low.unwrap_or(0), texts), length);
        }
        let mut code = 0_u32;
        for (length, byte) in (1..=4_usize).zip(bytes) {
            code = (code << 8) | u32::from(*byte);
            let Ok(short) = u8::try_from(length) else { break };
            if let Some(cid) = self.encoding.lookup_cid_code(code, short) {
                return (self.shape_of(code, length, cid, texts), length);
            }
        }
        // No map knows it. Most maps use two bytes, and skipping one would turn all that follows into noise.
        (Shape { advance: self.width / 1000.0, ..Shape::default() }, bytes.len().min(2))
    }

    fn shape_of_two(&mut self, code: u32, high: u8, low: u8, texts: &mut Texts) -> Shape {
        let seen = self.seen.get(usize::from(high)).and_then(Option::as_ref);
        if let Some(Some(shape)) = seen.and_then(|row| row.get(usize::from(low))) {
            return *shape;
        }
        let shape = self.make(code, code, texts);
        if let Some(row) = self.seen.get_mut(usize::from(high)) {
            let row = row.get_or_insert_with(|| Box::new([None; 256]));
            if let Some(slot) = row.get_mut(usize::from(low)) {
                *slot = Some(shape);
            }
        }
        shape
    }

    fn shape_of(&mut self, code: u32, length: usize, cid: u32, texts: &mut Texts) -> Shape {
        if let Some(shape) = self.seen_others.get(&(length, code)) {
            return *shape;
        }
        let shape = self.make(code, cid, texts);
        if self.seen_others.len() < 100_000 {
            self.seen_others.insert((length, code), shape);
        }
        shape
    }

    fn make(&self, code: u32, cid: u32, texts: &mut Texts) -> Shape {
        let text = self.text(code, cid).map(|text| texts.add(&text)).unwrap_or_default();
        let width = self.widths.get(cid).unwrap_or(self.width);
        if !self.vertical {
            return Shape { text, advance: width / 1000.0 };
        }
        let [_, default] = self.drop;
        let [drop, _, _] = self.drops.get(cid).unwrap_or([default, 0.0, 0.0]);
        Shape { text, advance: drop / 1000.0 }
    }

    fn text(&self, code: u32, cid: u32) -> Option<String> {
        if let Some(text) = self.to_unicode.as_ref().and_then(|map| map.get(code)) {
            return Some(text);
        }
        if let Some(collection) = &self.collection {
            return collection.get(cid);
        }
        let program = self.program.as_ref()?;
        let glyph = match &self.glyphs {
            Some(map) => {
                let at = usize::try_from(cid).ok()?.checked_mul(2)?;
                let glyph = map.get(at..at.checked_add(2)?)?;
                u32::from(u16::from_be_bytes(glyph.try_into().ok()?))
            }
            None => program.by_cid(cid)?,
        };
        program.glyph(glyph).map(ToOwned::to_owned)
    }
}

/// Values of ranges of characters. Later ranges win, as later entries of the array do.
#[derive(Debug)]
struct Runs<T>(BTreeMap<u32, (u32, T)>);

impl<T> Default for Runs<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Copy> Runs<T> {
    fn set(&mut self, first: u32, last: u32, value: T) {
        if first <= last && first <= MOST_CIDS {
            self.0.insert(first, (last, value));
        }
    }

    fn get(&self, cid: u32) -> Option<T> {
        let (_, (last, value)) = self.0.range(..=cid).next_back()?;
        (cid <= *last).then_some(*value)
    }
}

/// `c [w w w]` or `first last w`, again and again.
fn widths(array: &Array<'_>) -> Runs<f32> {
    let mut runs = Runs::default();
    let mut items = array.iter::<Object<'_>>();
    while let Some(first) = items.next().and_then(cid) {
        match items.next() {
            Some(Object::Array(list)) => {
                for (cid, width) in (first..=MOST_CIDS).zip(list.iter::<f32>()) {
                    runs.set(cid, cid, width);
                }
            }
            Some(last) => {
                let (Some(last), Some(width)) = (cid(last), items.next().and_then(Object::into_f32)) else {
                    break;
                };
                runs.set(first, last, width);
            }
            None => break,
        }
    }
    runs
}

/// `c [w x y …]` or `first last w x y`, again and again.
fn drops(array: &Array<'_>) -> Runs<[f32; 3]> {
    let mut runs = Runs::default();
    let mut items = array.iter::<Object<'_>>();
    while let Some(first) = items.next().and_then(cid) {
        match items.next() {
            Some(Object::Array(list)) => {
                let numbers: Vec<f32> = list.iter::<f32>().collect();
                for (cid, drop) in (first..=MOST_CIDS).zip(numbers.as_chunks::<3>().0) {
                    runs.set(cid, cid, *drop);
                }
            }
            Some(last) => {
                let mut number = || items.next().and_then(Object::into_f32);
                let (Some(last), Some(w), Some(x), Some(y)) = (cid(last), number(), number(), number())
                else {
                    break;
                };
                runs.set(first, last, [w, x, y]);
            }
            None => break,
        }
    }
    runs
}

fn cid(object: Object<'_>) -> Option<u32> {
    u32::try_from(object.into_number()?.as_i64()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hayro_syntax::object::FromBytes;

    #[test]
    fn widths_come_as_lists_and_as_ranges() {
        let array = Array::from_bytes(b"[1 [500 600] 10 20 700 4294967295 [1]]").unwrap();
        let widths = widths(&array);
        assert_eq!(widths.get(1), Some(500.0));
        assert_eq!(widths.get(2), Some(600.0));
        assert_eq!(widths.get(3), None);
        assert_eq!(widths.get(15), Some(700.0));
        assert_eq!(widths.get(21), None);
    }

    #[test]
    fn a_range_of_all_numbers_costs_one_entry() {
        let array = Array::from_bytes(b"[0 4294967295 500]").unwrap();
        let widths = widths(&array);
        assert_eq!(widths.0.len(), 1);
        assert_eq!(widths.get(70_000), Some(500.0));
    }
}
