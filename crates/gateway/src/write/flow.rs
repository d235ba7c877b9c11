//! A page's blocks as a reader takes them in: lists and tables are whole, captions stand with what they name.
//!
//! Shared by the mappings that say what a text *is* (`tei`, `docbook`). The others say where it *lies*.

use crate::page::{Block, Role};

/// One or several blocks that belong together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Piece<'a> {
    Heading(u8, &'a Block),
    Paragraph(&'a Block),
    List(&'a [Block]),
    Table { cells: &'a [Block], caption: Option<&'a Block> },
    Figure { figure: &'a Block, caption: Option<&'a Block> },
    Caption(&'a Block),
    Note(&'a Block),
    Artifact(&'a Block),
}

/// The pieces of a page, in reading order. Every block is in exactly one.
pub(crate) fn pieces(blocks: &[Block]) -> Pieces<'_> {
    Pieces { rest: blocks }
}

/// See [`pieces`].
pub(crate) struct Pieces<'a> {
    rest: &'a [Block],
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let (first, after) = self.rest.split_first()?;
        Some(match first.role {
            Role::Paragraph => self.single(after, Piece::Paragraph(first)),
            Role::Heading(level) => self.single(after, Piece::Heading(level, first)),
            Role::Note => self.single(after, Piece::Note(first)),
            Role::Artifact => self.single(after, Piece::Artifact(first)),
            Role::ListItem => Piece::List(self.take_while(|block| block.role == Role::ListItem)),
            Role::Cell { table, .. } => {
                let cells = self.table(table);
                Piece::Table { cells, caption: self.caption_below() }
            }
            Role::Figure => {
                self.rest = after;
                Piece::Figure { figure: first, caption: self.caption_below() }
            }
            Role::Caption => {
                self.rest = after;
                match after.split_first() {
                    Some((next, below)) => match next.role {
                        Role::Cell { table, .. } => {
                            Piece::Table { cells: self.table(table), caption: Some(first) }
                        }
                        Role::Figure => {
                            self.rest = below;
                            Piece::Figure { figure: next, caption: Some(first) }
                        }
                        Role::Paragraph
                        | Role::Heading(_)
                        | Role::ListItem
                        | Role::Caption
                        | Role::Note
                        | Role::Artifact => Piece::Caption(first),
                    },
                    None => Piece::Caption(first),
                }
            }
        })
    }
}

impl<'a> Pieces<'a> {
    fn single(&mut self, after: &'a [Block], piece: Piece<'a>) -> Piece<'a> {
        self.rest = after;
        piece
    }

    fn take_while(&mut self, belongs: impl Fn(&Block) -> bool) -> &'a [Block] {
        let count = self.rest.iter().take_while(|block| belongs(block)).count();
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        taken
    }

    fn table(&mut self, number: u16) -> &'a [Block] {
        self.take_while(|block| matches!(block.role, Role::Cell { table, .. } if table == number))
    }

    /// A caption below, unless it stands above the next table or figure.
    fn caption_below(&mut self) -> Option<&'a Block> {
        let (first, after) = self.rest.split_first()?;
        let names_the_next =
            after.first().is_some_and(|block| matches!(block.role, Role::Figure | Role::Cell { .. }));
        if first.role != Role::Caption || names_the_next {
            return None;
        }
        self.rest = after;
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Rect;

    fn shapes(roles: &[Role]) -> Vec<String> {
        let block = |&role| Block { bounds: Rect::default(), role, tagged: false, lines: Vec::new() };
        let blocks: Vec<Block> = roles.iter().map(block).collect();
        pieces(&blocks)
            .map(|piece| match piece {
                Piece::Heading(level, _) => format!("h{level}"),
                Piece::Paragraph(_) => "p".into(),
                Piece::List(items) => format!("list{}", items.len()),
                Piece::Table { cells, caption } => {
                    format!("table{}{}", cells.len(), if caption.is_some() { "+c" } else { "" })
                }
                Piece::Figure { caption, .. } => if caption.is_some() { "fig+c" } else { "fig" }.into(),
                Piece::Caption(_) => "c".into(),
                Piece::Note(_) => "n".into(),
                Piece::Artifact(_) => "a".into(),
            })
            .collect()
    }

    #[test]
    fn blocks_gather_into_pieces() {
        let cell = |table| Role::Cell { table, row: 0, column: 0 };
        use Role::{Artifact, Caption, Figure, Heading, ListItem, Note, Paragraph};
        assert_eq!(shapes(&[Heading(2), Paragraph, Note, Artifact]), ["h2", "p", "n", "a"]);
        assert_eq!(shapes(&[ListItem, ListItem, Paragraph, ListItem]), ["list2", "p", "list1"]);
        assert_eq!(shapes(&[cell(0), cell(0), cell(1)]), ["table2", "table1"]);
        assert_eq!(shapes(&[Caption, cell(0), Caption]), ["table1+c", "c"]);
        assert_eq!(shapes(&[cell(0), Caption, Paragraph]), ["table1+c", "p"]);
        assert_eq!(shapes(&[Figure, Caption, Figure, Caption]), ["fig", "fig+c", "c"]);
        assert_eq!(shapes(&[Figure, Caption]), ["fig+c"]);
        assert_eq!(shapes(&[Caption, Paragraph]), ["c", "p"]);
        assert!(shapes(&[]).is_empty());
    }
}
