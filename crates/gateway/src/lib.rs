//! PDF to XML.
//!
//! A PDF is read into one [`Document`](page::Document), and the writers turn that into XML. Reading happens in a child
//! process of the same binary, so that a hostile file can hurt nobody but itself; the HTTP server around it is what other
//! rooms see.

mod layout;
pub mod page;
pub mod pdf;
#[cfg(any(test, feature = "sample"))]
pub mod sample;
