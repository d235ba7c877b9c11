//! Affine transforms, as content streams use them.

/// `[a b c d e f]`, applied to row vectors: `x' = a·x + c·y + e`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Matrix {
    pub(crate) a: f64,
    pub(crate) b: f64,
    pub(crate) c: f64,
    pub(crate) d: f64,
    pub(crate) e: f64,
    pub(crate) f: f64,
}

impl Matrix {
    pub(crate) const IDENTITY: Self = Self { a: 1.0, b: 0.0, c: 0.0, d: 1.0, e: 0.0, f: 0.0 };

    pub(crate) fn new(values: [f64; 6]) -> Self {
        let [a, b, c, d, e, f] = values;
        Self { a, b, c, d, e, f }
    }

    pub(crate) fn translate(x: f64, y: f64) -> Self {
        Self { e: x, f: y, ..Self::IDENTITY }
    }

    /// First `self`, then `after`.
    pub(crate) fn then(self, after: Self) -> Self {
        Self {
            a: self.a * after.a + self.b * after.c,
            b: self.a * after.b + self.b * after.d,
            c: self.c * after.a + self.d * after.c,
            d: self.c * after.b + self.d * after.d,
            e: self.e * after.a + self.f * after.c + after.e,
            f: self.e * after.b + self.f * after.d + after.f,
        }
    }

    /// Where a point goes.
    pub(crate) fn apply(self, x: f64, y: f64) -> (f64, f64) {
        (self.a * x + self.c * y + self.e, self.b * x + self.d * y + self.f)
    }

    /// Where a direction goes: the same without the translation.
    pub(crate) fn turn(self, x: f64, y: f64) -> (f64, f64) {
        (self.a * x + self.c * y, self.b * x + self.d * y)
    }

    pub(crate) fn is_finite(self) -> bool {
        [self.a, self.b, self.c, self.d, self.e, self.f].iter().all(|v| v.is_finite() && v.abs() < 1e9)
    }
}
