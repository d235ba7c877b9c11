//! The mappings: four ways to write a [`Document`] as XML.
//!
//! Every writer streams, so that nothing of the output is kept. What comes out is legal XML 1.0, valid against its schema,
//! and the same bytes for the same document.

mod alto;
mod chars;
mod docbook;
mod flow;
mod grid;
mod join;
mod language;
mod mapping;
mod names;
mod number;
mod outline;
mod tei;
mod text;
pub mod verify;
mod xml;

use std::io::{self, BufWriter, Write};

pub use mapping::{Mapping, Schema};

use crate::page::Document;

/// Writes the document in a mapping. Answers how many characters XML does not allow; each was written as U+FFFD.
///
/// Fails only when `out` does.
pub fn write(mapping: Mapping, document: &Document, out: impl Write) -> io::Result<u64> {
    let out = BufWriter::with_capacity(64 * 1024, out);
    match mapping {
        Mapping::Text => text::write(document, out),
        Mapping::Alto => alto::write(document, out),
        Mapping::Tei => tei::write(document, out),
        Mapping::Docbook => docbook::write(document, out),
    }
}
