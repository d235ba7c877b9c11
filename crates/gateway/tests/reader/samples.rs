//! The sample of real files, where it is present.

use crate::kit::words;
use redrive_gateway::pdf::{self, Ask, Refusal};
use std::path::{Path, PathBuf};

/// The folder of samples; nothing, and a line that says so, where it is absent.
pub(crate) fn folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/pdfs");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no samples in {}", folder.display());
    None
}

pub(crate) fn files() -> Vec<PathBuf> {
    let Some(folder) = folder() else { return Vec::new() };
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "pdf")).collect();
    files.sort();
    files
}

/// The first pages are enough.
fn few() -> Ask {
    Ask { pages: Some(1..=15), ..Ask::default() }
}

#[test]
fn every_sample_gets_the_answer_of_its_kind() {
    for path in files() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let answer = pdf::read(std::fs::read(&path).unwrap(), &few());
        if name.contains("encrypted-closed") {
            assert_eq!(answer.unwrap_err(), Refusal::PasswordRequired, "{name}");
        } else if name.contains("damaged") {
            assert!(answer.map_or_else(|e| e == Refusal::InvalidPdf, |d| d.warnings.repaired), "{name}");
        } else {
            let document = answer.unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
            let said = document.pages.iter().any(|page| !words(page).is_empty());
            assert_eq!(document.warnings.no_text_layer, !said, "{name}");
            assert!(said || name.contains("scan") || name.contains("encrypted-open"), "{name}");
        }
    }
}

#[test]
fn boxes_lie_on_the_page_and_enclose_each_other() {
    for path in files() {
        let Ok(document) = pdf::read(std::fs::read(&path).unwrap(), &few()) else { continue };
        for page in &document.pages {
            for block in &page.blocks {
                for line in &block.lines {
                    for word in &line.words {
                        let (inner, outer) = (word.bounds, block.bounds);
                        assert!(inner.x0 <= inner.x1 && inner.y0 <= inner.y1, "{}: {word:?}", path.display());
                        assert!(inner.x0 >= outer.x0 && inner.y1 <= outer.y1, "{}: {word:?}", path.display());
                        assert!(!page.text_of(word).is_empty(), "{}: {word:?}", path.display());
                        assert!(usize::from(word.font) < document.fonts.len());
                    }
                }
            }
        }
    }
}

#[test]
fn reading_twice_gives_the_same() {
    for path in files() {
        let read = || pdf::read(std::fs::read(&path).unwrap(), &few());
        assert!(read() == read(), "{}", path.display());
    }
}
