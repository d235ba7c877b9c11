//! PDF to XML.
//!
//! A PDF is read into one [`Document`](page::Document), and the writers turn that into XML. Reading happens in a child
//! process of the same binary, so that a hostile file can hurt nobody but itself; the HTTP server around it is what other
//! rooms see.

pub mod cage;
pub mod convert;
pub mod http;
mod layout;
pub mod page;
pub mod pdf;
mod reader;
#[cfg(any(test, feature = "sample"))]
pub mod sample;
pub mod write;

pub use reader::PdfReader;
