//! How well the gateway reads PDFs, measured against three other readers on real files.
//!
//! No reader is right by definition, so agreement is compared with how much the three agree with each other: 1 means that
//! ours stands as near to them as they stand to one another. Boxes are compared with Poppler's, cost with Poppler's and
//! PDFium's.

pub mod cost;
pub mod peers;
pub mod score;
