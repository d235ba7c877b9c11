//! Lines of pieces become the page's lines of words.

use super::atom::Atom;
use super::bidi::reading_order;
use super::frame::{Frame, Span};
use super::line::{Line, glyphs};
use crate::page::{self, Direction, Word};
use crate::pdf::content::Drawn;

/// Writes a line: its words' text goes to the end of `text`.
pub(crate) fn write(
    drawn: &Drawn,
    atoms: &[Atom],
    frame: Frame,
    line: &Line,
    text: &mut String,
) -> page::Line {
    let mixed = line.pieces.iter().filter_map(|piece| get(atoms, piece.atom)).any(|atom| atom.rtl);
    let words = if mixed && !frame.vertical {
        mixed_words(drawn, atoms, frame, line, text)
    } else {
        plain_words(drawn, atoms, frame, line, text)
    };
    let bounds = words.iter().map(|word| word.bounds).reduce(page::Rect::union).unwrap_or_default();
    let direction = match (frame.vertical, frame.angle) {
        (true, _) => Direction::Vertical,
        (false, 0) if line.rtl => Direction::RightToLeft,
        (false, 0) => Direction::LeftToRight,
        (false, angle) => Direction::Rotated(angle),
    };
    page::Line { bounds, baseline: frame.baseline(line.span.u0, line.base), direction, words }
}

fn get(atoms: &[Atom], at: u32) -> Option<&Atom> {
    usize::try_from(at).ok().and_then(|at| atoms.get(at))
}

/// A word that is being put together.
struct Open {
    start: usize,
    span: Span,
    font: u16,
    size: f32,
}

impl Open {
    fn close(self, frame: Frame, text: &str) -> Word {
        let place = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        Word {
            text: place(self.start)..place(text.len()),
            bounds: frame.upright(self.span),
            font: self.font,
            size: self.size,
        }
    }
}

/// Words whose pieces are read in the order in which they stand.
fn plain_words(drawn: &Drawn, atoms: &[Atom], frame: Frame, line: &Line, text: &mut String) -> Vec<Word> {
    let mut words = Vec::with_capacity(line.pieces.iter().filter(|piece| piece.starts).count());
    let mut open: Option<Open> = None;
    for piece in &line.pieces {
        let Some(atom) = get(atoms, piece.atom) else { continue };
        if piece.starts
            && let Some(done) = open.take()
        {
            words.push(done.close(frame, text));
        }
        match &mut open {
            Some(word) => {
                word.span = word.span.union(atom.span);
                word.size = word.size.max(atom.size);
            }
            None => {
                let font = font(drawn, atom.glyphs.start);
                open = Some(Open { start: text.len(), span: atom.span, font, size: atom.size });
            }
        }
        for part in glyphs(drawn, atom) {
            text.push_str(part);
        }
    }
    words.extend(open.map(|open| open.close(frame, text)));
    words
}

/// One glyph of a line in which some text is read from right to left; nothing for the space between words.
struct Unit<'a> {
    text: &'a str,
    glyph: Option<(usize, f32)>,
}

/// Words of a line in which some text is read from right to left.
fn mixed_words(drawn: &Drawn, atoms: &[Atom], frame: Frame, line: &Line, text: &mut String) -> Vec<Word> {
    let mut units: Vec<Unit<'_>> = Vec::new();
    for piece in &line.pieces {
        let Some(atom) = get(atoms, piece.atom) else { continue };
        if piece.starts && !units.is_empty() {
            units.push(Unit { text: " ", glyph: None });
        }
        let range =
            usize::try_from(atom.glyphs.start).unwrap_or(0)..usize::try_from(atom.glyphs.end).unwrap_or(0);
        for (at, part) in range.zip(glyphs(drawn, atom)) {
            units.push(Unit { text: part, glyph: Some((at, atom.size)) });
        }
    }
    let texts: Vec<&str> = units.iter().map(|unit| unit.text).collect();
    let mut words = Vec::new();
    let mut open: Option<Open> = None;
    for at in reading_order(&texts, line.rtl) {
        let Some(unit) = units.get(at) else { continue };
        let Some((glyph, size)) = unit.glyph.and_then(|(at, size)| Some((drawn.glyphs.get(at)?, size)))
        else {
            words.extend(open.take().map(|open| open.close(frame, text)));
            continue;
        };
        let (u, v) = frame.turn(glyph.x, glyph.y);
        let (far, v0, v1) = (u + glyph.advance, v - glyph.ascent, v - glyph.descent);
        let span = Span { u0: u.min(far), u1: u.max(far), v0: v0.min(v1), v1: v0.max(v1) };
        match &mut open {
            Some(word) => {
                word.span = word.span.union(span);
                word.size = word.size.max(size);
            }
            None => open = Some(Open { start: text.len(), span, font: glyph.font, size }),
        }
        text.push_str(unit.text);
    }
    words.extend(open.map(|open| open.close(frame, text)));
    words
}

fn font(drawn: &Drawn, glyph: u32) -> u16 {
    usize::try_from(glyph).ok().and_then(|at| drawn.glyphs.get(at)).map_or(0, |glyph| glyph.font)
}
