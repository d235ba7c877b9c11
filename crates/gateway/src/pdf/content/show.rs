//! Shows strings: every code becomes a glyph somewhere on the page.

use super::lexer::Operand;
use super::state::{Pen, State};
use super::{Arguments, Glyph, Runner};
use crate::pdf::refusal::Refusal;

impl Runner<'_, '_> {
    /// `Tj` and `TJ`: strings, and numbers that move the pen between them.
    pub(super) fn show(
        &mut self,
        arguments: Arguments<'_, '_>,
        state: &State,
        pen: &mut Pen,
    ) -> Result<(), Refusal> {
        let Some(place) = state.font else { return Ok(()) };
        let vertical = self.shelf.get(place).is_some_and(|font| font.vertical);
        for operand in arguments.operands {
            match operand {
                Operand::Text(start, end) => {
                    self.show_string(arguments.string(*start, *end), place, state, pen)?;
                }
                Operand::Number(number) => {
                    let back = -number / 1000.0 * state.size;
                    if vertical { pen.advance(0.0, back) } else { pen.advance(back * state.stretch, 0.0) }
                }
                Operand::Name(_)
                | Operand::Array
                | Operand::EndArray
                | Operand::Dictionary
                | Operand::EndDictionary => {}
            }
        }
        Ok(())
    }

    fn show_string(
        &mut self,
        bytes: &[u8],
        place: usize,
        state: &State,
        pen: &mut Pen,
    ) -> Result<(), Refusal> {
        let hidden = self.marked.is_hidden();
        let mark = self.marked.mark();
        let Some(font) = self.shelf.get(place) else { return Ok(()) };
        // The string's own space: one unit is one em, before stretching.
        let matrix = pen.text.then(state.page);
        let (up_x, up_y) = matrix.turn(0.0, state.size);
        let size = up_x.hypot(up_y) as f32;
        let (along_x, along_y) = matrix.turn(state.size * state.stretch, 0.0);
        let along = along_x.hypot(along_y) as f32;
        let direction = if font.vertical { (-up_x, -up_y) } else { (along_x, along_y) };
        let angle = degrees(direction.0, direction.1);
        let seen = size * font.scale;
        let mut rest = bytes;
        let mut count = 0_u64;
        // How far the pen has moved since the string began.
        let mut moved = 0.0_f64;
        while let Some((shape, length, space)) = font.next(rest) {
            rest = rest.get(length.max(1)..).unwrap_or_default();
            count += 1;
            let spacing = state.char_space + if space { state.word_space } else { 0.0 };
            if !hidden && size.is_finite() && size > 0.0 {
                let text = font.texts.get(shape.text);
                let (text, length) = match text {
                    // A glyph that nobody knows and that takes no room is no loss.
                    "" if shape.advance == 0.0 => (0, 0),
                    "" => self.drawn.add_unmapped(),
                    text => self.drawn.add_text(text),
                };
                let glyph = Glyph {
                    x: 0.0,
                    y: 0.0,
                    advance: shape.advance * if font.vertical { -size } else { along },
                    size: seen,
                    ascent: font.ascent * seen,
                    descent: font.descent * seen,
                    text,
                    length,
                    font: font.number,
                    angle,
                    vertical: font.vertical,
                    mark,
                };
                // A vertical glyph hangs from the pen: its own baseline plays no part.
                let (x, y) = if font.vertical {
                    matrix.apply(0.0, moved + state.rise)
                } else {
                    matrix.apply(moved, state.rise)
                };
                let (x, y) = (x as f32, y as f32);
                if length > 0 && x.is_finite() && y.is_finite() {
                    let glyph = Glyph { x, y, ..glyph };
                    self.drawn.glyphs.push(if font.vertical { hanging(glyph) } else { glyph });
                }
            }
            let advance = f64::from(shape.advance) * state.size + spacing;
            moved += if font.vertical { advance } else { advance * state.stretch };
        }
        if font.vertical {
            pen.advance(0.0, moved);
        } else {
            pen.advance(moved, 0.0);
        }
        self.budget.glyphs(count)
    }
}

/// A glyph of a vertical line fills its em: half on each side of the pen.
fn hanging(glyph: Glyph) -> Glyph {
    Glyph { ascent: glyph.size / 2.0, descent: -glyph.size / 2.0, ..glyph }
}

/// Whole degrees clockwise, 0 to 359, as the page's y axis points down.
fn degrees(x: f64, y: f64) -> u16 {
    if !(x.is_finite() && y.is_finite()) {
        return 0;
    }
    let degrees = y.atan2(x).to_degrees().round().rem_euclid(360.0);
    // Between 0 and 360 by the line above.
    if degrees >= 360.0 { 0 } else { degrees as u16 }
}
