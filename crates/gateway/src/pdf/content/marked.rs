//! Marked content: numbers for the structure tree, artifacts, layers, and text that replaces what is drawn.

use super::Arguments;
use super::drawn::{Drawn, Glyph, Mark, Mcid};
use super::lexer::{Operand, is_space};
use crate::pdf::text::decode;
use hayro_syntax::object::Dict;

/// Deeper marks than these are ignored.
const MOST_OPEN: usize = 1024;

/// What a mark says of its content.
#[derive(Debug, Default, Clone)]
pub(super) struct Said {
    pub(super) mcid: Option<u32>,
    pub(super) replacement: Option<String>,
    pub(super) hidden: bool,
}

impl Said {
    /// From a dictionary that the resources name.
    pub(super) fn of_dictionary(dictionary: Option<Dict<'_>>) -> Self {
        let Some(dictionary) = dictionary else { return Self::default() };
        let replacement = dictionary.get::<hayro_syntax::object::String<'_>>("ActualText");
        Self {
            mcid: dictionary.get("MCID"),
            replacement: replacement.map(|text| decode(&text)),
            hidden: false,
        }
    }

    /// From a dictionary that stands in the content itself.
    pub(super) fn of_operands(arguments: Arguments<'_, '_>) -> Self {
        let mut said = Self::default();
        for pair in arguments.operands.windows(2) {
            match pair {
                [Operand::Name(b"MCID"), Operand::Number(number)] if *number >= 0.0 && *number < 1e9 => {
                    said.mcid = Some(*number as u32);
                }
                [Operand::Name(b"ActualText"), Operand::Text(start, end)] => {
                    said.replacement = Some(decode(arguments.string(*start, *end)));
                }
                _ => {}
            }
        }
        said
    }
}

/// The marks that are open.
#[derive(Debug, Default)]
pub(super) struct Marked {
    open: Vec<Open>,
    /// Opened beyond [`MOST_OPEN`].
    beyond: usize,
    hidden: usize,
    /// Whose numbers are being read; see [`Mcid`].
    pub(super) stream: u32,
}

#[derive(Debug)]
struct Open {
    mark: u32,
    hidden: bool,
    /// Replaces all glyphs from this one on.
    replacement: Option<(usize, String)>,
}

impl Marked {
    pub(super) fn is_hidden(&self) -> bool {
        self.hidden > 0
    }

    /// The number of the mark that glyphs get now.
    pub(super) fn mark(&self) -> u32 {
        self.open.last().map_or(0, |open| open.mark)
    }

    pub(super) fn depth(&self) -> usize {
        self.open.len() + self.beyond
    }

    pub(super) fn open(&mut self, tag: &[u8], said: Option<Said>, drawn: &mut Drawn) {
        if self.open.len() >= MOST_OPEN {
            self.beyond += 1;
            return;
        }
        let said = said.unwrap_or_default();
        let outer = self.mark();
        let at = usize::try_from(outer).unwrap_or(usize::MAX);
        let outer_mark = drawn.marks.get(at).copied().unwrap_or(Mark { mcid: None, artifact: false });
        let mark = Mark {
            mcid: said.mcid.map(|number| Mcid { stream: self.stream, number }).or(outer_mark.mcid),
            artifact: outer_mark.artifact || tag == b"Artifact",
        };
        let mark = if mark == outer_mark { outer } else { drawn.add_mark(mark) };
        self.hidden += usize::from(said.hidden);
        let replacement = said.replacement.map(|text| (drawn.glyphs.len(), text));
        self.open.push(Open { mark, hidden: said.hidden, replacement });
    }

    pub(super) fn close(&mut self, drawn: &mut Drawn) {
        if self.beyond > 0 {
            self.beyond -= 1;
            return;
        }
        let Some(open) = self.open.pop() else { return };
        self.hidden -= usize::from(open.hidden);
        if let Some((from, text)) = open.replacement {
            // A replacement inside another one has no say.
            let inner = self.open.iter().any(|open| open.replacement.is_some());
            if !inner {
                replace(drawn, from, &text);
            }
        }
    }

    /// Closes what a form left open.
    pub(super) fn close_to(&mut self, depth: usize, drawn: &mut Drawn) {
        while self.depth() > depth {
            self.close(drawn);
        }
    }
}

/// Puts `text` in the place of the glyphs from `from` on. Character by character when there are as many of both, else as
/// one stretch as long as the glyphs of the first line.
fn replace(drawn: &mut Drawn, from: usize, text: &str) {
    let Some(first) = drawn.glyphs.get(from).copied() else { return };
    let characters = text.chars().count();
    let shown = drawn.glyphs.len() - from;
    if text.chars().all(char::is_whitespace) {
        drawn.glyphs.truncate(from);
        if characters > 0 {
            add(drawn, first, " ");
        }
        return;
    }
    if characters == shown {
        for (at, character) in (from..).zip(text.chars()) {
            let (text, length) = drawn.add_text(character.encode_utf8(&mut [0; 4]));
            if let Some(glyph) = drawn.glyphs.get_mut(at) {
                (glyph.text, glyph.length) = (text, length);
            }
        }
        return;
    }
    let line = drawn.glyphs.get(from..).unwrap_or_default();
    let (sin, cos) = f32::from(first.angle).to_radians().sin_cos();
    let along = |glyph: &Glyph| (glyph.x - first.x) * cos + (glyph.y - first.y) * sin;
    let across = |glyph: &Glyph| (glyph.y - first.y) * cos - (glyph.x - first.x) * sin;
    let same = line.iter().filter(|glyph| glyph.angle == first.angle && across(glyph).abs() < first.size);
    let (start, end) = same.fold((0.0_f32, first.advance), |(start, end), glyph| {
        (start.min(along(glyph)), end.max(along(glyph) + glyph.advance))
    });
    drawn.glyphs.truncate(from);
    let step = (end - start) / characters.max(1) as f32;
    let mut at = 0_usize;
    // Words get their share of the room by their number of characters.
    for word in text.split_inclusive(is_break) {
        let length = word.chars().count();
        let offset = start + step * at as f32;
        let moved = Glyph { x: first.x + offset * cos, y: first.y + offset * sin, ..first };
        let letters = word.trim_end_matches(is_break);
        let room = step * letters.chars().count() as f32;
        if !letters.is_empty() {
            add(drawn, Glyph { advance: room, ..moved }, letters);
        }
        if letters.len() < word.len() {
            let gap = Glyph { x: moved.x + room * cos, y: moved.y + room * sin, advance: step, ..moved };
            add(drawn, gap, " ");
        }
        at += length;
    }
}

fn is_break(character: char) -> bool {
    character.is_whitespace() || u8::try_from(character).is_ok_and(is_space)
}

fn add(drawn: &mut Drawn, like: Glyph, text: &str) {
    let (text, length) = drawn.add_text(text);
    drawn.glyphs.push(Glyph { text, length, ..like });
}
