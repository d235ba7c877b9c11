//! The frame of one direction of text.

use super::atom::Atom;
use crate::page::Rect;

/// A way in which text runs, and the axes that go with it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Frame {
    /// Degrees clockwise.
    pub(crate) angle: u16,
    /// Upright glyphs, line running down.
    pub(crate) vertical: bool,
    sin: f32,
    cos: f32,
}

impl Frame {
    pub(crate) fn new(angle: u16, vertical: bool) -> Self {
        let (sin, cos) = match angle {
            0 => (0.0, 1.0),
            90 => (1.0, 0.0),
            180 => (0.0, -1.0),
            270 => (-1.0, 0.0),
            other => f32::from(other).to_radians().sin_cos(),
        };
        Self { angle, vertical, sin, cos }
    }

    /// Along the line, and across it (growing from line to line).
    pub(crate) fn turn(self, x: f32, y: f32) -> (f32, f32) {
        (x * self.cos + y * self.sin, y * self.cos - x * self.sin)
    }

    /// The upright rectangle around a rectangle of this frame.
    pub(crate) fn upright(self, around: Span) -> Rect {
        let Span { u0, u1, v0, v1 } = around;
        let back = |u: f32, v: f32| (u * self.cos - v * self.sin, u * self.sin + v * self.cos);
        let corners = [back(u0, v0), back(u1, v0), back(u0, v1), back(u1, v1)];
        let start = Rect { x0: f32::MAX, y0: f32::MAX, x1: f32::MIN, y1: f32::MIN };
        corners.iter().fold(start, |rect, (x, y)| rect.union(Rect { x0: *x, y0: *y, x1: *x, y1: *y }))
    }

    /// Where a baseline lies on the page.
    pub(crate) fn baseline(self, u: f32, v: f32) -> f32 {
        let (x, y) = (u * self.cos - v * self.sin, u * self.sin + v * self.cos);
        if self.vertical || self.angle == 90 || self.angle == 270 { x } else { y }
    }
}

/// A rectangle of a frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Span {
    pub(crate) u0: f32,
    pub(crate) u1: f32,
    pub(crate) v0: f32,
    pub(crate) v1: f32,
}

impl Span {
    pub(crate) fn union(self, other: Self) -> Self {
        Self {
            u0: self.u0.min(other.u0),
            u1: self.u1.max(other.u1),
            v0: self.v0.min(other.v0),
            v1: self.v1.max(other.v1),
        }
    }
}

/// The atoms that run in one direction.
pub(crate) struct Direction {
    pub(crate) frame: Frame,
    pub(crate) atoms: Vec<u32>,
}

/// Splits atoms by direction. Ordinary text comes first, then the others in the order of their angle.
pub(crate) fn directions(atoms: &[Atom], chosen: &[u32]) -> Vec<Direction> {
    let mut found: Vec<Direction> = Vec::new();
    for at in chosen {
        let Some(atom) = usize::try_from(*at).ok().and_then(|at| atoms.get(at)) else { continue };
        let frame = atom.frame;
        match found.iter_mut().find(|d| d.frame.angle == frame.angle && d.frame.vertical == frame.vertical) {
            Some(direction) => direction.atoms.push(*at),
            None => found.push(Direction { frame, atoms: vec![*at] }),
        }
    }
    found.sort_by_key(|direction| {
        (!direction.frame.vertical && direction.frame.angle != 0, direction.frame.angle)
    });
    found
}
