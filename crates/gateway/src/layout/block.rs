//! Lines of one region become paragraphs.

use super::atom::Atom;
use super::frame::Frame;
use super::line::{Line, Piece, glyphs};
use super::order::Region;
use super::word;
use crate::page::{Block, Rect, Role};
use crate::pdf::content::Drawn;

/// A gap between lines that parts paragraphs, compared with the usual one.
const PARAGRAPH_GAP: f32 = 1.35;
/// Sizes that differ by more are different paragraphs.
const SIZE_RATIO: f32 = 1.12;
/// An indent of more ems begins a paragraph.
const INDENT: f32 = 0.8;

/// Writes the paragraphs of a region.
pub(crate) fn paragraphs(
    drawn: &Drawn,
    atoms: &[Atom],
    frame: Frame,
    lines: &[Line],
    region: Region,
    text: &mut String,
    blocks: &mut Vec<Block>,
) {
    let role = region.cell.unwrap_or(Role::Paragraph);
    let lines: Vec<&Line> = region.lines.iter().filter_map(|at| lines.get(*at)).collect();
    let rows = rows(&lines);
    let pitch = pitch(&rows);
    let left = rows.iter().map(|row| row.span.u0).fold(f32::MAX, f32::min);
    let right = rows.iter().map(|row| row.span.u1).fold(f32::MIN, f32::max);
    let mut open: Vec<crate::page::Line> = Vec::new();
    let mut before: Option<&Line> = None;
    for row in &rows {
        let parts = before.is_some_and(|before| {
            let step = row.base - before.base;
            let ratio = row.size.max(before.size) / row.size.min(before.size).max(0.1);
            let (near, far) = if row.rtl {
                (right - row.span.u1, before.span.u0 - left)
            } else {
                (row.span.u0 - left, right - before.span.u1)
            };
            let indented = near > INDENT * row.size && far > 2.0 * row.size;
            step > PARAGRAPH_GAP * pitch.max(row.size)
                || ratio > SIZE_RATIO
                || indented
                || is_item(drawn, atoms, row)
        });
        if parts && region.cell.is_none() {
            close(&mut open, role, blocks);
        }
        open.push(word::write(drawn, atoms, frame, row, text));
        before = Some(row);
    }
    close(&mut open, role, blocks);
}

fn close(open: &mut Vec<crate::page::Line>, role: Role, blocks: &mut Vec<Block>) {
    let lines: Vec<_> = std::mem::take(open).into_iter().filter(|line| !line.words.is_empty()).collect();
    let bounds = lines.iter().map(|line| line.bounds).reduce(Rect::union);
    if let Some(bounds) = bounds {
        blocks.push(Block { bounds, role, tagged: false, lines });
    }
}

/// Parts of one line that only a wide gap had parted become one line again.
fn rows(lines: &[&Line]) -> Vec<Line> {
    let mut rows: Vec<Line> = Vec::with_capacity(lines.len());
    for line in lines {
        match rows.last_mut() {
            Some(row) if (row.base - line.base).abs() < 0.15 * row.size.min(line.size) => {
                let mut more = line.pieces.clone();
                if row.span.u0 <= line.span.u0 {
                    row.pieces.append(&mut more);
                } else {
                    more.append(&mut row.pieces);
                    row.pieces = more;
                }
                row.span = row.span.union(line.span);
                row.size = row.size.max(line.size);
                row.rtl |= line.rtl;
            }
            _ => rows.push((*line).clone()),
        }
    }
    rows
}

/// The usual distance between lines.
fn pitch(rows: &[Line]) -> f32 {
    let mut steps: Vec<f32> = rows
        .windows(2)
        .filter_map(|pair| if let [a, b] = pair { Some(b.base - a.base) } else { None })
        .filter(|step| *step > 0.0)
        .collect();
    if steps.is_empty() {
        return 0.0;
    }
    let middle = steps.len() / 2;
    *steps.select_nth_unstable_by(middle, f32::total_cmp).1
}

/// Whether a line begins with a bullet or a number as lists have them.
fn is_item(drawn: &Drawn, atoms: &[Atom], line: &Line) -> bool {
    let ends =
        line.pieces.iter().skip(1).position(|piece| piece.starts).map_or(line.pieces.len(), |at| at + 1);
    let mut first = String::new();
    for Piece { atom, .. } in line.pieces.iter().take(ends) {
        let Some(atom) = usize::try_from(*atom).ok().and_then(|at| atoms.get(at)) else { continue };
        for part in glyphs(drawn, atom) {
            first.push_str(part);
            if first.len() > 8 {
                return false;
            }
        }
    }
    super::role::is_bullet(&first)
}
