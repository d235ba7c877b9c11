//! Reading order: columns from left to right, each from top to bottom, and what spans columns between them.
//!
//! The page is cut along empty stripes. A stripe from top to bottom parts columns; where a heading or a figure's caption
//! crosses it, the columns above and below are read apart. What remains is cut at wide gaps between lines.

use super::frame::Span;
use super::line::Line;
use crate::page::Role;

/// The least width of the stripe between two columns, in ems.
const GUTTER: f32 = 0.8;
/// Lines that may cross the stripe between columns, of all lines.
const CROSSING: f32 = 0.25;
/// A gap between lines that parts regions, in ems.
const BAND: f32 = 0.9;
/// How deep cuts go.
const DEEPEST: usize = 60;

/// Lines that are read together, top to bottom.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Region {
    pub(crate) lines: Vec<usize>,
    /// A cell of a table.
    pub(crate) cell: Option<Role>,
}

/// Cuts lines into regions, in reading order.
pub(crate) fn regions(lines: &[Line], rtl: bool, tables: &mut u16) -> Vec<Region> {
    let mut cutter = Cutter { lines, rtl, tables, done: Vec::new() };
    let all: Vec<usize> = (0..lines.len()).collect();
    cutter.cut(all, 0);
    cutter.done
}

struct Cutter<'a> {
    lines: &'a [Line],
    rtl: bool,
    tables: &'a mut u16,
    done: Vec<Region>,
}

impl Cutter<'_> {
    fn span(&self, at: usize) -> Span {
        self.lines.get(at).map_or(Span { u0: 0.0, u1: 0.0, v0: 0.0, v1: 0.0 }, |line| line.span)
    }

    fn base(&self, at: usize) -> f32 {
        self.lines.get(at).map_or(0.0, |line| line.base)
    }

    /// The size of most lines.
    fn em(&self, region: &[usize]) -> f32 {
        let mut sizes: Vec<f32> =
            region.iter().filter_map(|at| self.lines.get(*at)).map(|line| line.size).collect();
        let middle = sizes.len() / 2;
        if sizes.is_empty() {
            return 10.0;
        }
        *sizes.select_nth_unstable_by(middle, f32::total_cmp).1
    }

    fn cut(&mut self, region: Vec<usize>, depth: usize) {
        if region.len() < 2 || depth > DEEPEST {
            return self.leaf(region);
        }
        let em = self.em(&region);
        let gutters = self.gutters(&region, GUTTER * em);
        if !gutters.is_empty() {
            if self.table(&region, &gutters, em) {
                return;
            }
            return self.columns(region, &gutters, depth);
        }
        if let Some(gutter) = self.crossed_gutter(&region, em) {
            return self.around(region, gutter, depth);
        }
        match self.widest_band(&region, BAND * em) {
            Some(at) => {
                let (above, below): (Vec<usize>, Vec<usize>) =
                    region.into_iter().partition(|line| self.span(*line).v1 <= at + 0.01);
                if above.is_empty() || below.is_empty() {
                    return self.leaf(if above.is_empty() { below } else { above });
                }
                self.cut(above, depth + 1);
                self.cut(below, depth + 1);
            }
            None => self.leaf(region),
        }
    }

    fn leaf(&mut self, mut region: Vec<usize>) {
        region.sort_by(|a, b| {
            self.base(*a).total_cmp(&self.base(*b)).then(self.span(*a).u0.total_cmp(&self.span(*b).u0))
        });
        if !region.is_empty() {
            self.done.push(Region { lines: region, cell: None });
        }
    }

    /// Empty stripes through the whole region, as positions in their middle.
    fn gutters(&self, region: &[usize], least: f32) -> Vec<f32> {
        let mut spans: Vec<(f32, f32)> =
            region.iter().map(|at| self.span(*at)).map(|span| (span.u0, span.u1)).collect();
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        gaps(&spans, least)
    }

    fn columns(&mut self, region: Vec<usize>, gutters: &[f32], depth: usize) {
        let mut columns: Vec<Vec<usize>> = vec![Vec::new(); gutters.len() + 1];
        for line in region {
            let left = self.span(line).u0;
            let place = gutters.iter().filter(|gutter| **gutter < left).count();
            if let Some(column) = columns.get_mut(place) {
                column.push(line);
            }
        }
        if self.rtl {
            columns.reverse();
        }
        for column in columns.into_iter().filter(|column| !column.is_empty()) {
            self.cut(column, depth + 1);
        }
    }

    /// A stripe that only few lines cross.
    fn crossed_gutter(&self, region: &[usize], em: f32) -> Option<f32> {
        if region.len() < 6 {
            return None;
        }
        let mut edges: Vec<(f32, i32)> = Vec::with_capacity(region.len() * 2);
        let (mut left, mut right) = (f32::MAX, f32::MIN);
        for at in region {
            let span = self.span(*at);
            edges.push((span.u0, 1));
            edges.push((span.u1, -1));
            (left, right) = (left.min(span.u0), right.max(span.u1));
        }
        edges.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let middle = (left + (right - left) * 0.15)..(right - (right - left) * 0.15);
        let most = (region.len() as f32 * CROSSING) as i32;
        let mut best: Option<(i32, f32, f32)> = None;
        let mut open = 0_i32;
        for pair in edges.windows(2) {
            let [(from, step), (to, _)] = pair else { continue };
            open += step;
            let width = to - from;
            let at = (from + to) / 2.0;
            let better =
                best.is_none_or(|(fewest, widest, _)| open < fewest || (open == fewest && width > widest));
            if width >= GUTTER * em && middle.contains(&at) && open <= most && better {
                best = Some((open, width, at));
            }
        }
        let (_, _, at) = best?;
        let left = region.iter().filter(|line| self.span(**line).u1 <= at).count();
        let right = region.iter().filter(|line| self.span(**line).u0 >= at).count();
        (left >= 3 && right >= 3).then_some(at)
    }

    /// Reads the columns between the lines that cross their gutter.
    fn around(&mut self, mut region: Vec<usize>, gutter: f32, depth: usize) {
        region.sort_by(|a, b| self.base(*a).total_cmp(&self.base(*b)).then(a.cmp(b)));
        let (mut crossing, mut columns): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
        for line in region {
            let span = self.span(line);
            let crosses = span.u0 < gutter && span.u1 > gutter;
            if crosses && !columns.is_empty() {
                let columns = std::mem::take(&mut columns);
                self.sides(columns, gutter, depth);
            }
            if !crosses && !crossing.is_empty() {
                let crossing = std::mem::take(&mut crossing);
                self.cut(crossing, depth + 1);
            }
            if crosses { crossing.push(line) } else { columns.push(line) }
        }
        self.cut(crossing, depth + 1);
        self.sides(columns, gutter, depth);
    }

    fn sides(&mut self, columns: Vec<usize>, gutter: f32, depth: usize) {
        self.columns(columns, &[gutter], depth);
    }

    /// The widest gap between lines, as a position in its middle.
    fn widest_band(&self, region: &[usize], least: f32) -> Option<f32> {
        let mut spans: Vec<(f32, f32)> =
            region.iter().map(|at| self.span(*at)).map(|span| (span.v0, span.v1)).collect();
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut end = spans.first()?.1;
        let mut widest: Option<(f32, f32)> = None;
        for (from, to) in spans {
            let gap = from - end;
            if gap >= least && widest.is_none_or(|(width, _)| gap > width) {
                widest = Some((gap, (from + end) / 2.0));
            }
            end = end.max(to);
        }
        widest.map(|(_, at)| at)
    }

    /// Reads a region row by row if it looks like a table: several columns whose lines stand side by side and leave much
    /// room. Columns of running text fill their width.
    fn table(&mut self, region: &[usize], gutters: &[f32], em: f32) -> bool {
        let mut sorted = region.to_vec();
        sorted.sort_by(|a, b| {
            self.base(*a).total_cmp(&self.base(*b)).then(self.span(*a).u0.total_cmp(&self.span(*b).u0))
        });
        let mut rows: Vec<Vec<usize>> = Vec::new();
        for line in sorted {
            let same = rows
                .last()
                .and_then(|row| row.first())
                .is_some_and(|first| (self.base(line) - self.base(*first)).abs() < 0.3 * em);
            match rows.last_mut() {
                Some(row) if same => row.push(line),
                _ => rows.push(vec![line]),
            }
        }
        let shared = rows.iter().filter(|row| row.len() > 1).count();
        if rows.len() < 2 || shared * 10 < rows.len() * 6 {
            return false;
        }
        let mut edges: Vec<f32> = vec![f32::MIN];
        edges.extend_from_slice(gutters);
        let widths = edges.iter().enumerate().map(|(at, from)| {
            let to = edges.get(at + 1).copied().unwrap_or(f32::MAX);
            let inside =
                region.iter().map(|line| self.span(*line)).filter(|span| span.u0 >= *from && span.u0 < to);
            let (mut low, mut high, mut sum, mut count) = (f32::MAX, f32::MIN, 0.0, 0_u16);
            for span in inside {
                (low, high) = (low.min(span.u0), high.max(span.u1));
                sum += span.u1 - span.u0;
                count += 1;
            }
            let fill = sum / f32::from(count.max(1)) / (high - low).max(1.0);
            (high - low, fill)
        });
        let text = widths.filter(|(width, fill)| *width > 12.0 * em && *fill > 0.7).count();
        if text > 0 && text * 2 > gutters.len() {
            return false;
        }
        let table = *self.tables;
        *self.tables = self.tables.saturating_add(1);
        for (number, row) in rows.iter().enumerate() {
            let mut cells: Vec<Vec<usize>> = vec![Vec::new(); gutters.len() + 1];
            for line in row {
                let left = self.span(*line).u0;
                let place = gutters.iter().filter(|gutter| **gutter < left).count();
                if let Some(cell) = cells.get_mut(place) {
                    cell.push(*line);
                }
            }
            if self.rtl {
                cells.reverse();
            }
            for (column, lines) in cells.into_iter().enumerate().filter(|(_, lines)| !lines.is_empty()) {
                let short = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
                let cell = Role::Cell { table, row: short(number), column: short(column) };
                self.done.push(Region { lines, cell: Some(cell) });
            }
        }
        true
    }
}

/// The middles of the gaps between sorted intervals.
fn gaps(sorted: &[(f32, f32)], least: f32) -> Vec<f32> {
    let mut found = Vec::new();
    let Some((_, mut end)) = sorted.first().copied() else { return found };
    for (from, to) in sorted {
        if from - end >= least {
            found.push((from + end) / 2.0);
        }
        end = end.max(*to);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(u0: f32, u1: f32, base: f32) -> Line {
        let span = Span { u0, u1, v0: base - 9.0, v1: base + 2.0 };
        Line { pieces: Vec::new(), span, base, size: 10.0, rtl: false }
    }

    fn flat(lines: &[Line], rtl: bool) -> Vec<usize> {
        regions(lines, rtl, &mut 0).into_iter().flat_map(|region| region.lines).collect()
    }

    /// Two columns of running text, given row by row.
    fn two_columns(from: f32) -> Vec<Line> {
        (0_u8..6)
            .flat_map(|row| {
                let base = from + f32::from(row) * 12.0;
                [line(0.0, 240.0, base), line(260.0, 500.0, base)]
            })
            .collect()
    }

    #[test]
    fn columns_are_read_one_after_the_other() {
        let lines = two_columns(100.0);
        assert_eq!(flat(&lines, false), [0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11]);
        assert_eq!(flat(&lines, true), [1, 3, 5, 7, 9, 11, 0, 2, 4, 6, 8, 10]);
    }

    #[test]
    fn a_title_above_columns_is_read_first_and_a_line_across_parts_them() {
        let mut lines = two_columns(100.0);
        lines.push(line(50.0, 450.0, 60.0));
        lines.push(line(50.0, 450.0, 200.0));
        lines.extend(two_columns(240.0));
        let order = flat(&lines, false);
        assert_eq!(order.first(), Some(&12));
        let across = order.iter().position(|at| *at == 13).unwrap();
        assert!(order[..across].contains(&11) && order[across..].contains(&14));
        assert_eq!(order[across + 1..across + 7], [14, 16, 18, 20, 22, 24]);
    }

    #[test]
    fn a_table_is_read_row_by_row() {
        let lines: Vec<Line> = (0_u8..4)
            .flat_map(|row| {
                let base = 100.0 + f32::from(row) * 12.0;
                [line(0.0, 30.0, base), line(100.0, 140.0, base), line(200.0, 220.0, base)]
            })
            .collect();
        let regions = regions(&lines, false, &mut 0);
        let flat: Vec<usize> = regions.iter().flat_map(|region| region.lines.clone()).collect();
        assert_eq!(flat, (0..12).collect::<Vec<_>>());
        assert_eq!(regions[4].cell, Some(Role::Cell { table: 0, row: 1, column: 1 }));
    }
}
