//! Headings become nested sections, whatever levels they jump between.
//!
//! A heading closes every open section of its own level or deeper, and opens one inside the rest. So a jump from 1 to 4 is one
//! step deeper, and running text never follows a section that was closed: both TEI and DocBook forbid that.

/// The levels of the open sections, outermost first; strictly increasing, so at most six.
#[derive(Debug, Default)]
pub(super) struct Outline {
    open: Vec<u8>,
}

impl Outline {
    /// How many sections to close before a heading of this level opens its own.
    pub(super) fn heading(&mut self, level: u8) -> usize {
        let level = level.clamp(1, 6);
        let keep = self.open.iter().take_while(|&&open| open < level).count();
        let close = self.open.len() - keep;
        self.open.truncate(keep);
        self.open.push(level);
        close
    }

    /// How many sections are open.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_order_of_levels_nests() {
        let mut outline = Outline::default();
        for (level, closed, depth) in
            [(3, 0, 1), (1, 1, 1), (4, 0, 2), (2, 1, 2), (2, 1, 2), (9, 0, 3), (0, 3, 1)]
        {
            assert_eq!((outline.heading(level), outline.depth()), (closed, depth), "level {level}");
        }
    }
}
