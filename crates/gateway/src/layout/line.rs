//! Atoms that stand on one baseline become lines; the gaps in a line part its words.

use super::atom::{Atom, is_rtl_letter};
use super::frame::Span;
use crate::pdf::content::Drawn;

/// Baselines that differ by less, in ems, are one.
const SAME_BASE: f32 = 0.15;
/// A gap in a line that is larger, in ems, may be the space between columns.
const COLUMN_GAP: f32 = 1.0;
/// Raised and lowered text is this much smaller at least.
const SMALLER: f32 = 0.9;
/// …and not smaller than this: text beside a large initial is no index of it.
const SMALLEST: f32 = 0.45;
/// A piece that begins so many ems before the end of the one before it lies on top of it and is a word by itself.
const ON_TOP: f32 = 0.5;
/// Glyphs closer than this, in ems, belong to one word.
const CHAR_GAP: f32 = 0.03;
/// In s p a c e d letters, a word's end is a gap that is larger by this factor…
const SPACED_FACTOR: f32 = 1.3;
/// …but no gap of more ems is inside of a word.
const SPACED_MOST: f32 = 0.4;

/// One line, or the part of it that stands in one column.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// From left to right as seen.
    pub(crate) pieces: Vec<Piece>,
    pub(crate) span: Span,
    pub(crate) base: f32,
    pub(crate) size: f32,
    /// More letters are read from right to left than otherwise.
    pub(crate) rtl: bool,
}

/// An atom in its line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    pub(crate) atom: u32,
    /// A new word begins here.
    pub(crate) starts: bool,
}

/// The lines of atoms that all run in one direction.
pub(crate) fn lines(drawn: &Drawn, atoms: &[Atom], chosen: &[u32]) -> Vec<Line> {
    let get = |at: u32| usize::try_from(at).ok().and_then(|at| atoms.get(at));
    let mut sorted: Vec<(u32, &Atom)> = chosen.iter().filter_map(|at| Some((*at, get(*at)?))).collect();
    sorted.sort_by(|(a, x), (b, y)| {
        x.base.total_cmp(&y.base).then(x.span.u0.total_cmp(&y.span.u0)).then(a.cmp(b))
    });
    let mut segments: Vec<Segment> = Vec::new();
    let mut row: Vec<(u32, &Atom)> = Vec::new();
    let mut base = f32::MIN;
    for (at, atom) in sorted {
        let size = row.last().map_or(atom.size, |(_, last)| last.size.min(atom.size));
        if !row.is_empty() && (atom.base - base).abs() > SAME_BASE * size {
            cut(&mut row, &mut segments);
        }
        if row.is_empty() {
            base = atom.base;
        }
        row.push((at, atom));
    }
    cut(&mut row, &mut segments);
    attach_small(&mut segments);
    segments.into_iter().map(|segment| finish(drawn, atoms, segment)).collect()
}

/// Whether most lines are read from right to left.
pub(crate) fn mostly_rtl(lines: &[Line]) -> bool {
    lines.iter().filter(|line| line.rtl).count() * 2 > lines.len()
}

struct Segment {
    atoms: Vec<(u32, f32)>,
    span: Span,
    base: f32,
    size: f32,
}

/// Cuts one row of atoms at its wide gaps.
fn cut(row: &mut Vec<(u32, &Atom)>, segments: &mut Vec<Segment>) {
    row.sort_by(|(a, x), (b, y)| x.span.u0.total_cmp(&y.span.u0).then(a.cmp(b)));
    let mut open: Option<Segment> = None;
    for (at, atom) in row.drain(..) {
        match &mut open {
            Some(segment) if atom.span.u0 - segment.span.u1 <= COLUMN_GAP * segment.size.max(atom.size) => {
                segment.atoms.push((at, atom.span.u0));
                segment.span = segment.span.union(atom.span);
                if atom.size > segment.size {
                    (segment.size, segment.base) = (atom.size, atom.base);
                }
            }
            _ => {
                segments.extend(open.take());
                open = Some(Segment {
                    atoms: vec![(at, atom.span.u0)],
                    span: atom.span,
                    base: atom.base,
                    size: atom.size,
                });
            }
        }
    }
    segments.extend(open);
}

/// Footnote marks, exponents and indices join the line that they touch.
fn attach_small(segments: &mut Vec<Segment>) {
    segments.sort_by(|a, b| a.base.total_cmp(&b.base).then(a.span.u0.total_cmp(&b.span.u0)));
    let largest = segments.iter().map(|segment| segment.size).fold(0.0, f32::max);
    let hosts: Vec<Option<usize>> = (0..segments.len()).map(|at| host(segments, at, largest)).collect();
    for (at, mut host) in hosts.iter().enumerate().map(|(at, host)| (at, *host)) {
        // A host may itself be a guest; sizes grow along the way, so it ends.
        while let Some(next) = host.and_then(|host| hosts.get(host).copied().flatten()) {
            host = Some(next);
        }
        let Some(host) = host else { continue };
        let Some(guest) = segments.get_mut(at) else { continue };
        let (guests, span) = (std::mem::take(&mut guest.atoms), guest.span);
        if let Some(host) = segments.get_mut(host) {
            host.atoms.extend(guests);
            host.span = host.span.union(span);
        }
    }
    segments.retain(|segment| !segment.atoms.is_empty());
}

/// The line that a small segment stands beside.
fn host(segments: &[Segment], at: usize, largest: f32) -> Option<usize> {
    let small = segments.get(at)?;
    let reach = 0.8 * largest;
    let near = |other: &Segment| {
        let middle = (small.span.v0 + small.span.v1) / 2.0;
        let raised = other.base - small.base;
        small.size < SMALLER * other.size
            && small.size > SMALLEST * other.size
            && raised > -0.35 * other.size
            && raised < 0.6 * other.size
            && middle > other.base - other.size
            && middle < other.span.v1.min(other.base + 0.3 * other.size)
            && small.span.u0 < other.span.u1 + 0.25 * other.size
            && small.span.u1 > other.span.u0 - 0.25 * other.size
    };
    let before = (0..at).rev().map_while(|place| {
        let other = segments.get(place)?;
        (small.base - other.base <= reach).then_some((place, other))
    });
    let after = (at + 1..segments.len()).map_while(|place| {
        let other = segments.get(place)?;
        (other.base - small.base <= reach).then_some((place, other))
    });
    let close = |(_, other): &(usize, &Segment)| (other.base - small.base).abs();
    before
        .chain(after)
        .filter(|(_, other)| near(other))
        .min_by(|a, b| close(a).total_cmp(&close(b)))
        .map(|(place, _)| place)
}

/// Sorts a line's atoms, drops what was drawn twice and finds where words begin.
fn finish(drawn: &Drawn, atoms: &[Atom], mut segment: Segment) -> Line {
    segment.atoms.sort_by(|(a, x), (b, y)| x.total_cmp(y).then(a.cmp(b)));
    let get = |at: u32| usize::try_from(at).ok().and_then(|at| atoms.get(at));
    let mut order: Vec<(u32, &Atom)> = Vec::with_capacity(segment.atoms.len());
    for (at, _) in &segment.atoms {
        let Some(atom) = get(*at) else { continue };
        let twice = order.iter().rev().take(3).any(|(_, before)| same(drawn, before, atom));
        if !twice {
            order.push((*at, atom));
        }
    }
    let limit = word_gap(&order, segment.size);
    let mut pieces: Vec<Piece> = Vec::with_capacity(order.len());
    let mut end = f32::MIN;
    let mut before: Option<(u32, &Atom)> = None;
    for (at, atom) in &order {
        let starts = before.is_none_or(|(last, last_atom)| {
            let gap = atom.span.u0 - end;
            let apart = gap >= limit || gap < -ON_TOP * atom.size.max(last_atom.size);
            // White space parts words even where there is hardly any room for it.
            let next = last.abs_diff(*at) == 1 && gap > 0.0;
            let spaced = if *at > last { atom.spaced } else { last_atom.spaced };
            apart || (next && spaced)
        });
        pieces.push(Piece { atom: *at, starts });
        end = if starts { atom.span.u1 } else { end.max(atom.span.u1) };
        before = Some((*at, atom));
    }
    let rtl = order.iter().any(|(_, atom)| atom.rtl) && is_rtl(drawn, &order);
    Line { pieces, span: segment.span, base: segment.base, size: segment.size, rtl }
}

/// Whether two atoms are one text drawn twice.
fn same(drawn: &Drawn, a: &Atom, b: &Atom) -> bool {
    let near = (a.span.u0 - b.span.u0).abs() < 0.1 * a.size && (a.base - b.base).abs() < 0.2 * a.size;
    near && a.glyphs.len() == b.glyphs.len() && glyphs(drawn, a).eq(glyphs(drawn, b))
}

/// The texts of an atom's glyphs.
pub(crate) fn glyphs<'a>(drawn: &'a Drawn, atom: &Atom) -> impl Iterator<Item = &'a str> {
    let range =
        usize::try_from(atom.glyphs.start).unwrap_or(0)..usize::try_from(atom.glyphs.end).unwrap_or(0);
    drawn.glyphs.get(range).unwrap_or_default().iter().map(|glyph| drawn.text_of(glyph))
}

/// The gap from which on a new word begins.
fn word_gap(order: &[(u32, &Atom)], size: f32) -> f32 {
    let single = order.len() > 2 && order.iter().all(|(_, atom)| atom.glyphs.len() == 1);
    let gaps = order.windows(2).filter_map(|pair| {
        let [(_, a), (_, b)] = pair else { return None };
        Some(b.span.u0 - a.span.u1)
    });
    let least = if single { gaps.fold(f32::MAX, f32::min) } else { 0.0 };
    if least <= 0.0 { CHAR_GAP * size } else { (SPACED_FACTOR * least).min(SPACED_MOST * size) }
}

fn is_rtl(drawn: &Drawn, order: &[(u32, &Atom)]) -> bool {
    let (mut rtl, mut ltr) = (0_usize, 0_usize);
    for text in order.iter().flat_map(|(_, atom)| glyphs(drawn, atom)) {
        for character in text.chars() {
            if is_rtl_letter(character) {
                rtl += 1;
            } else if character.is_alphabetic() {
                ltr += 1;
            }
        }
    }
    rtl > ltr
}
