//! What operators change: where the pen is and how text is set.

use crate::pdf::matrix::Matrix;

/// The part of the graphics state that text depends upon.
#[derive(Debug, Clone, Copy)]
pub(crate) struct State {
    /// From the content's space to the page as seen.
    pub(crate) page: Matrix,
    /// The font's place on the shelf.
    pub(crate) font: Option<usize>,
    pub(crate) size: f64,
    /// Between characters.
    pub(crate) char_space: f64,
    /// Between words.
    pub(crate) word_space: f64,
    /// 1 is normal.
    pub(crate) stretch: f64,
    pub(crate) leading: f64,
    pub(crate) rise: f64,
}

impl State {
    pub(crate) fn new(page: Matrix) -> Self {
        Self {
            page,
            font: None,
            size: 0.0,
            char_space: 0.0,
            word_space: 0.0,
            stretch: 1.0,
            leading: 0.0,
            rise: 0.0,
        }
    }
}

/// Where the pen is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pen {
    /// Where the line begins.
    pub(crate) line: Matrix,
    /// Where the next glyph begins.
    pub(crate) text: Matrix,
}

impl Pen {
    pub(crate) const START: Self = Self { line: Matrix::IDENTITY, text: Matrix::IDENTITY };

    /// To the beginning of another line.
    pub(crate) fn next_line(&mut self, x: f64, y: f64) {
        self.set(Matrix::translate(x, y).then(self.line));
    }

    pub(crate) fn set(&mut self, matrix: Matrix) {
        if matrix.is_finite() {
            self.line = matrix;
            self.text = matrix;
        }
    }

    /// Along the line.
    pub(crate) fn advance(&mut self, x: f64, y: f64) {
        let moved = Matrix::translate(x, y).then(self.text);
        if moved.is_finite() {
            self.text = moved;
        }
    }
}
