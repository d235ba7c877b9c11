//! Cells become rows: sorted, numbered without gaps, and filled up where that stays small.

use crate::page::{Block, Role};

/// A table's cells by row and column.
#[derive(Debug)]
pub(crate) struct Grid<'a> {
    entries: Vec<Entry<'a>>,
    columns: usize,
    fill: bool,
}

/// One block and the place it says it has, counted among the places that exist.
#[derive(Debug)]
struct Entry<'a> {
    row: usize,
    column: usize,
    block: &'a Block,
}

impl<'a> Grid<'a> {
    /// Sorts the cells. Several blocks may share a cell; they keep their order.
    pub(crate) fn new(cells: &'a [Block]) -> Self {
        let placed = cells.iter().filter_map(|block| match block.role {
            Role::Cell { row, column, .. } => Some((row, column, block)),
            Role::Paragraph
            | Role::Heading(_)
            | Role::ListItem
            | Role::Caption
            | Role::Note
            | Role::Artifact
            | Role::Figure => None,
        });
        let placed: Vec<(u16, u16, &Block)> = placed.collect();
        let rows = ranks(placed.iter().map(|&(row, _, _)| row));
        let columns = ranks(placed.iter().map(|&(_, column, _)| column));
        let rank = |ranks: &[u16], value| ranks.binary_search(&value).unwrap_or_default();
        let mut entries: Vec<Entry<'a>> = placed
            .iter()
            .map(|&(row, column, block)| Entry {
                row: rank(&rows, row),
                column: rank(&columns, column),
                block,
            })
            .collect();
        entries.sort_by_key(|entry| (entry.row, entry.column));
        // A diagonal of n cells would need n² to be filled up.
        let fill = rows.len().saturating_mul(columns.len()) <= 4 * entries.len() + 64;
        Self { entries, columns: columns.len(), fill }
    }

    /// How many columns there are.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// The rows; each is a list of cells, each cell a list of blocks.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Vec<Vec<&'a Block>>> + '_ {
        self.entries.chunk_by(|a, b| a.row == b.row).map(|row| {
            let mut cells: Vec<Vec<&Block>> = Vec::new();
            for cell in row.chunk_by(|a, b| a.column == b.column) {
                let column = cell.first().map_or(0, |entry| entry.column);
                if self.fill {
                    cells.resize_with(column, Vec::new);
                }
                cells.push(cell.iter().map(|entry| entry.block).collect());
            }
            if self.fill {
                cells.resize_with(self.columns, Vec::new);
            }
            cells
        })
    }
}

/// The distinct values in order; a value's index is its rank.
fn ranks(values: impl Iterator<Item = u16>) -> Vec<u16> {
    let mut values: Vec<u16> = values.collect();
    values.sort_unstable();
    values.dedup();
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Rect;

    fn cell(row: u16, column: u16) -> Block {
        let role = Role::Cell { table: 0, row, column };
        Block { bounds: Rect::default(), role, tagged: false, lines: Vec::new() }
    }

    fn shape(cells: &[Block]) -> Vec<Vec<usize>> {
        Grid::new(cells).rows().map(|row| row.iter().map(Vec::len).collect()).collect()
    }

    #[test]
    fn gaps_are_filled_and_numbers_closed_up() {
        let cells = [cell(9, 7), cell(2, 3), cell(2, 3), cell(9, 5)];
        assert_eq!(shape(&cells), [[2, 0, 0], [0, 1, 1]]);
    }

    #[test]
    fn a_diagonal_is_not_filled_up() {
        let cells: Vec<Block> = (0..1000).map(|n| cell(n, n)).collect();
        let rows = shape(&cells);
        assert_eq!(rows.len(), 1000);
        assert!(rows.iter().all(|row| row == &[1]));
    }
}
