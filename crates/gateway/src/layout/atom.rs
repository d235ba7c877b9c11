//! The first gathering: glyphs that were drawn one after the other without a gap.
//!
//! Mostly these are words already. They are not where a font changes, where letters are spaced out, or where text was drawn
//! from right to left; the [lines](super::line) bring such pieces together.

use super::frame::{Frame, Span};
use crate::pdf::content::{Drawn, Glyph};
use std::ops::Range;
use unicode_bidi::BidiClass;

/// A gap that is larger, in ems, parts words.
const GAP: f32 = 0.1;
/// A glyph that begins so far before the end of the last one, in ems, starts anew.
const BACK: f32 = 0.1;
/// Baselines that differ by more points are different lines, or raised text.
const SHIFT: f32 = 0.5;

/// Glyphs drawn one after the other.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Atom {
    pub(crate) frame: Frame,
    /// Of the page's glyphs.
    pub(crate) glyphs: Range<u32>,
    pub(crate) span: Span,
    pub(crate) base: f32,
    pub(crate) size: f32,
    /// White space was drawn just before.
    pub(crate) spaced: bool,
    /// Holds a character that is read from right to left.
    pub(crate) rtl: bool,
    pub(crate) mark: u32,
}

/// Gathers a page's glyphs. What lies outside of the page is left out, as nobody sees it.
/// Glyphs that are drawn twice lose their text the second time.
pub(crate) fn gather(drawn: &mut Drawn, width: f32, height: f32) -> Vec<Atom> {
    let mut twice: Vec<usize> = Vec::new();
    let mut atoms: Vec<Atom> = Vec::with_capacity(drawn.glyphs.len() / 4);
    let mut open = false;
    let mut spaced = false;
    let mut frame = Frame::new(0, false);
    for (at, glyph) in (0_u32..).zip(&drawn.glyphs) {
        let text = drawn.text_of(glyph);
        if is_blank(text) {
            open = false;
            spaced = true;
            continue;
        }
        if (frame.angle, frame.vertical) != (glyph.angle, glyph.vertical) {
            frame = Frame::new(glyph.angle, glyph.vertical);
            open = false;
        }
        let (u, v) = frame.turn(glyph.x, glyph.y);
        let span = span(glyph, u, v);
        let seen = frame.upright(span);
        if seen.x1 < 0.0 || seen.x0 > width || seen.y1 < 0.0 || seen.y0 > height {
            open = false;
            continue;
        }
        if open && let Some(last) = atoms.last_mut() {
            let gap = u - last.span.u1;
            let fits = (v - last.base).abs() <= SHIFT && glyph.size == last.size && glyph.mark == last.mark;
            if fits && doubled(drawn, last, glyph, u, v) {
                twice.extend(usize::try_from(at));
                last.glyphs.end = at + 1;
                continue;
            }
            if fits && gap <= GAP * last.size && gap >= -BACK * last.size {
                last.glyphs.end = at + 1;
                last.span = last.span.union(span);
                last.rtl |= is_rtl(text);
                continue;
            }
        }
        let rtl = is_rtl(text);
        let mark = glyph.mark;
        atoms.push(Atom { frame, glyphs: at..at + 1, span, base: v, size: glyph.size, spaced, rtl, mark });
        open = true;
        spaced = false;
    }
    for at in twice {
        if let Some(glyph) = drawn.glyphs.get_mut(at) {
            glyph.length = 0;
        }
    }
    atoms
}

fn span(glyph: &Glyph, u: f32, v: f32) -> Span {
    let (v0, v1) = (v - glyph.ascent, v - glyph.descent);
    Span { u0: u.min(u + glyph.advance), u1: u.max(u + glyph.advance), v0: v0.min(v1), v1: v0.max(v1) }
}

/// Whether a glyph is the last one once more, a little displaced: that is how bold letters are faked.
fn doubled(drawn: &Drawn, last: &Atom, glyph: &Glyph, u: f32, v: f32) -> bool {
    let before = last.glyphs.end.checked_sub(1).and_then(|at| usize::try_from(at).ok());
    let Some(before) = before.and_then(|at| drawn.glyphs.get(at)) else { return false };
    let (last_u, last_v) = last.frame.turn(before.x, before.y);
    let near = (u - last_u).abs() < 0.1 * glyph.size && (v - last_v).abs() < 0.2 * glyph.size;
    near && glyph.advance > 0.2 * glyph.size && drawn.text_of(before) == drawn.text_of(glyph)
}

fn is_blank(text: &str) -> bool {
    text.chars().all(char::is_whitespace)
}

fn is_rtl(text: &str) -> bool {
    !text.is_ascii() && text.chars().any(is_rtl_letter)
}

/// A letter of a script that is read from right to left.
pub(crate) fn is_rtl_letter(character: char) -> bool {
    matches!(unicode_bidi::bidi_class(character), BidiClass::R | BidiClass::AL)
}
