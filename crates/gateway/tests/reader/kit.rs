//! What tests share: files with one odd font or catalog entry, and short ways to look at what was read.

use redrive_gateway::page::{Block, Document, Line, Page, Word};
use redrive_gateway::pdf::{self, Ask, Refusal};
use redrive_gateway::sample::{self, Builder};

/// Reads a file that must be readable.
pub(crate) fn read(bytes: Vec<u8>) -> Document {
    pdf::read(bytes, &Ask::default()).expect("the file is readable")
}

/// Reads a file that must be refused.
pub(crate) fn refused(bytes: Vec<u8>) -> Refusal {
    pdf::read(bytes, &Ask::default()).expect_err("the file is refused")
}

/// Reads one page with this content.
pub(crate) fn page(content: &str) -> Page {
    read(sample::page(content)).pages.remove(0)
}

/// All words of a page, one after the other.
pub(crate) fn words(page: &Page) -> Vec<&str> {
    each_word(page).map(|word| page.text_of(word)).collect()
}

/// The text of a block, words parted by a space.
pub(crate) fn text_of(page: &Page, block: &Block) -> String {
    let words: Vec<&str> =
        block.lines.iter().flat_map(|line| &line.words).map(|word| page.text_of(word)).collect();
    words.join(" ")
}

pub(crate) fn lines(page: &Page) -> impl Iterator<Item = &Line> {
    page.blocks.iter().flat_map(|block| &block.lines)
}

pub(crate) fn each_word(page: &Page) -> impl Iterator<Item = &Word> {
    lines(page).flat_map(|line| &line.words)
}

/// One page whose font `F1` is this dictionary; `more` are further objects, from number 6 on.
pub(crate) fn with_font(font: &str, content: &str, more: &[Vec<u8>]) -> Vec<u8> {
    let mut builder = Builder::new();
    builder.add("<</Type/Catalog/Pages 2 0 R>>");
    builder.add("<</Type/Pages/Count 1/Kids[3 0 R]>>");
    builder.add(
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
    );
    builder.stream("", content.as_bytes());
    builder.add(font);
    for object in more {
        builder.add(object);
    }
    builder.build()
}

/// A stream as an object.
pub(crate) fn stream(entries: &str, data: &[u8]) -> Vec<u8> {
    let mut object = format!("<<{entries}/Length {}>>stream\n", data.len()).into_bytes();
    object.extend_from_slice(data);
    object.extend_from_slice(b"\nendstream");
    object
}

/// One page with entries of the catalog and of the page; `more` are further objects, from number 6 on.
pub(crate) fn with_entries(catalog: &str, page: &str, content: &str, more: &[Vec<u8>]) -> Vec<u8> {
    let mut builder = Builder::new();
    builder.add(format!("<</Type/Catalog/Pages 2 0 R{catalog}>>"));
    builder.add("<</Type/Pages/Count 1/Kids[3 0 R]>>");
    builder.add(format!(
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>{page}>>"
    ));
    builder.stream("", content.as_bytes());
    builder.add("<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>");
    for object in more {
        builder.add(object);
    }
    builder.build()
}
