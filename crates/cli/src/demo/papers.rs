//! The documents of the demo: small PDFs with names as people give them, made from their number.

use redrive_gateway::sample::{self, Builder};

/// What is wrong with a document, if something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flaw {
    None,
    /// No reader finds its way in it.
    Damaged,
    /// It is locked in a way that nobody knows.
    Locked,
}

/// One document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Paper {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

const TITLES: [&str; 12] = [
    "Annual report",
    "Invoice",
    "Lease agreement",
    "Minutes of the board",
    "Delivery note",
    "Travel expenses",
    "Building permit",
    "Letter to the tenants",
    "Handbook, second edition",
    "Insurance policy",
    "Scan from the archive",
    "Quotation",
];

/// The document of this number. No two have the same bytes.
pub(super) fn paper(number: usize, flaw: Flaw) -> Paper {
    let title = TITLES.get(number % TITLES.len()).copied().unwrap_or("Letter");
    let name = match flaw {
        Flaw::None => format!("{title} {}.pdf", 10_400 + number),
        Flaw::Damaged => format!("{title} {} (recovered).pdf", 10_400 + number),
        Flaw::Locked => format!("{title} {} (confidential).pdf", 10_400 + number),
    };
    let bytes = match flaw {
        Flaw::None => sound(title, number),
        Flaw::Damaged => damaged(number),
        Flaw::Locked => locked(number),
    };
    Paper { name, bytes }
}

/// One to four pages of text.
fn sound(title: &str, number: usize) -> Vec<u8> {
    let page = |page: usize| {
        let mut content = format!("BT /F2 18 Tf 72 740 Td ({title}) Tj /F1 11 Tf 0 -30 Td ");
        for line in 0..30 {
            let words = format!("Paragraph {line} of page {page}, document {number}: nothing here is real.");
            content.push_str(&format!("({words}) Tj 0 -16 Td "));
        }
        content.push_str("ET");
        content
    };
    let pages: Vec<String> = (1..=1 + number % 4).map(page).collect();
    sample::pages(&pages.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The frame of a PDF around nothing that could be read.
fn damaged(number: usize) -> Vec<u8> {
    format!("%PDF-1.7\n% document {number}\ntrailer\n<</Size 1>>\nstartxref\n9\n%%EOF\n").into_bytes()
}

fn locked(number: usize) -> Vec<u8> {
    let mut file =
        Builder::new().trailer(&format!("/Encrypt<</Filter/Vault/V 1/R 2>>/ID[({number})({number})]"));
    file.add("<</Type/Catalog/Pages 2 0 R>>");
    file.add("<</Type/Pages/Count 0/Kids[]>>");
    file.build()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_documents_are_the_same_and_all_are_small() {
        let flaws = [Flaw::None, Flaw::Damaged, Flaw::Locked];
        let all = (0..100).flat_map(|number| flaws.map(|flaw| paper(number, flaw)));
        let (mut names, mut contents) = (HashSet::new(), HashSet::new());
        for paper in all {
            assert!(paper.bytes.starts_with(b"%PDF-") && paper.bytes.len() < 20_000, "{}", paper.name);
            assert!(names.insert(paper.name.clone()), "{}", paper.name);
            assert!(contents.insert(paper.bytes), "{}", paper.name);
        }
    }
}
