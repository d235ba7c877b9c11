//! From glyphs to pages: words, lines, blocks, in the order in which a person reads them.
//!
//! Everything happens in the frame of the text itself: for each direction that text runs in, the page is turned so that
//! lines run along `u` and follow each other along `v`. Slanted and vertical text so needs no rules of its own.

mod atom;
mod bidi;
mod block;
mod frame;
mod line;
mod order;
mod role;
mod tag;
mod word;

pub(crate) use role::guess;

use crate::page::{Block, Page};
use crate::pdf::content::Drawn;
use crate::pdf::structure::PageTags;

/// Lays out what a page draws. The roles that tags do not say are guessed later, when all pages are known.
pub(crate) fn page(drawn: &mut Drawn, tags: Option<&PageTags>, mut page: Page) -> Page {
    let atoms = atom::gather(drawn, page.width, page.height);
    let drawn = &*drawn;
    let mut text = String::with_capacity(drawn.text.len());
    let blocks: Vec<Block> = match tags {
        Some(tags) => tag::blocks(drawn, &atoms, tags, &mut text),
        None => {
            let all: Vec<u32> = (0..).zip(&atoms).map(|(at, _)| at).collect();
            blocks(drawn, &atoms, &all, &mut text, &mut 0)
        }
    };
    text.shrink_to_fit();
    page.text = text;
    page.blocks = blocks;
    page
}

/// The blocks of some atoms, as they look.
fn blocks(
    drawn: &Drawn,
    atoms: &[atom::Atom],
    chosen: &[u32],
    text: &mut String,
    tables: &mut u16,
) -> Vec<Block> {
    let mut done = Vec::new();
    for direction in frame::directions(atoms, chosen) {
        let lines = line::lines(drawn, atoms, &direction.atoms);
        let regions = order::regions(&lines, line::mostly_rtl(&lines), tables);
        for region in regions {
            block::paragraphs(drawn, atoms, direction.frame, &lines, region, text, &mut done);
        }
    }
    done
}
