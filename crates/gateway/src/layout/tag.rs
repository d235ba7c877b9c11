//! Blocks as the structure tree says, each laid out by itself.

use super::atom::Atom;
use super::blocks as looks;
use crate::page::{Block, Direction, Line, Rect, Role, Word};
use crate::pdf::content::Drawn;
use crate::pdf::structure::{PageTags, TagBlock};

/// Tags that cover less of a page's text than this are not worth following.
const COVERED: f32 = 0.5;

/// The blocks of a tagged page: those of the tree in its order, then what it does not speak of, then artifacts.
pub(crate) fn blocks(drawn: &Drawn, atoms: &[Atom], tags: &PageTags, text: &mut String) -> Vec<Block> {
    let mut tagged: Vec<Vec<u32>> = vec![Vec::new(); tags.blocks.len()];
    let (mut untagged, mut artifacts): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    for (at, atom) in (0_u32..).zip(atoms) {
        let mark = mark(drawn, atom);
        let place = mark.mcid.and_then(|mcid| tags.of.get(&mcid)).and_then(|place| tagged.get_mut(*place));
        match place {
            Some(place) => place.push(at),
            None if mark.artifact => artifacts.push(at),
            None => untagged.push(at),
        }
    }
    let covered = tagged.iter().map(Vec::len).sum::<usize>() as f32;
    let mut tables = first_free_table(tags);
    if covered < COVERED * (covered + untagged.len() as f32) {
        let all: Vec<u32> = (0_u32..).zip(atoms).map(|(at, _)| at).collect();
        return looks(drawn, atoms, &all, text, &mut tables);
    }
    let mut done = Vec::new();
    for (block, atoms_of) in tags.blocks.iter().zip(&tagged) {
        let parts = looks(drawn, atoms, atoms_of, text, &mut tables);
        if block.loose {
            done.extend(parts);
        } else {
            let lines: Vec<Line> = parts.into_iter().flat_map(|part| part.lines).collect();
            done.extend(whole(lines, block.role));
        }
        done.extend(figure(block, text));
    }
    renumber(&mut done);
    tables = done.iter().filter_map(|block| table(block.role)).max().map_or(0, |last| last.saturating_add(1));
    done.extend(looks(drawn, atoms, &untagged, text, &mut tables));
    for mut block in looks(drawn, atoms, &artifacts, text, &mut tables) {
        (block.role, block.tagged) = (Role::Artifact, true);
        done.push(block);
    }
    done
}

fn whole(lines: Vec<Line>, role: Role) -> Option<Block> {
    let bounds = lines.iter().map(|line| line.bounds).reduce(Rect::union)?;
    Some(Block { bounds, role, tagged: true, lines })
}

/// What a figure shows, in the figure's place.
fn figure(block: &TagBlock, text: &mut String) -> Option<Block> {
    let alternative = block.alternative.as_ref()?;
    let bounds = block.place.map_or_else(Rect::default, |[x0, y0, x1, y1]| Rect {
        x0: x0 as f32,
        y0: y0 as f32,
        x1: x1 as f32,
        y1: y1 as f32,
    });
    let place = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let mut words = Vec::new();
    for word in alternative.split_whitespace() {
        let start = text.len();
        text.extend(word.chars().filter(|c| !c.is_control() && !matches!(c, '\u{FFFE}' | '\u{FFFF}')));
        if text.len() > start {
            words.push(Word { text: place(start)..place(text.len()), bounds, font: 0, size: 0.0 });
        }
    }
    if words.is_empty() {
        return None;
    }
    let line = Line { bounds, baseline: bounds.y1, direction: Direction::LeftToRight, words };
    Some(Block { bounds, role: Role::Figure, tagged: true, lines: vec![line] })
}

/// The tree numbers tables through the whole file; a page counts its own.
fn renumber(blocks: &mut [Block]) {
    let mut known: Vec<u16> = Vec::new();
    for block in blocks {
        if let Role::Cell { table, .. } = &mut block.role {
            let place = known.iter().position(|number| number == table).unwrap_or_else(|| {
                known.push(*table);
                known.len() - 1
            });
            *table = u16::try_from(place).unwrap_or(u16::MAX);
        }
    }
}

fn table(role: Role) -> Option<u16> {
    if let Role::Cell { table, .. } = role { Some(table) } else { None }
}

fn first_free_table(tags: &PageTags) -> u16 {
    tags.blocks.iter().filter_map(|block| table(block.role)).max().map_or(0, |last| last.saturating_add(1))
}

fn mark(drawn: &Drawn, atom: &Atom) -> crate::pdf::content::Mark {
    let at = usize::try_from(atom.mark).unwrap_or(usize::MAX);
    drawn.marks.get(at).copied().unwrap_or(crate::pdf::content::Mark { mcid: None, artifact: false })
}
