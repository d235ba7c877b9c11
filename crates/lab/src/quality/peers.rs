//! The other readers: Poppler by its commands, PDFium and MuPDF by a small Python program.

use super::score::{Placed, Words, normalise, words};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program that speaks with PDFium and MuPDF.
pub const HELPER: &str = include_str!("peers.py");

/// What the others say about one file.
#[derive(Debug)]
pub struct Peers {
    /// Poppler's words.
    pub poppler: Words,
    /// PDFium's words.
    pub pdfium: Words,
    /// MuPDF's words.
    pub mupdf: Words,
    /// Poppler's words with their boxes.
    pub boxes: Vec<Placed>,
}

/// Calls the other readers.
#[derive(Debug)]
pub struct Others {
    /// A Python with `pypdfium2`, `pymupdf` and `pypdf`.
    pub python: PathBuf,
    /// Where the helper was written to.
    pub helper: PathBuf,
}

impl Others {
    /// Writes the helper into a folder.
    ///
    /// # Errors
    ///
    /// When that cannot be done.
    pub fn new(python: PathBuf, folder: &Path) -> Result<Self> {
        let helper = folder.join("peers.py");
        std::fs::write(&helper, HELPER).context("writing the helper")?;
        Ok(Self { python, helper })
    }

    /// A command that runs the helper.
    pub fn helper(&self, task: &str) -> Command {
        let mut command = Command::new(&self.python);
        command.arg(&self.helper).arg(task);
        command
    }

    /// What the others say; nothing when one of them refuses the file.
    ///
    /// # Errors
    ///
    /// When a reader is not there.
    pub fn read(&self, file: &Path) -> Result<Option<Peers>> {
        let text =
            Command::new("pdftotext").arg(file).arg("-").output().context("pdftotext is not installed")?;
        let found = self.helper("words").arg(file).output().context("no Python")?;
        ensure!(found.status.success(), "the helper failed: {}", String::from_utf8_lossy(&found.stderr));
        let found: serde_json::Value = serde_json::from_slice(&found.stdout)?;
        let said = |who: &str| found.get(who).and_then(serde_json::Value::as_str).map(words);
        let (Some(pdfium), Some(mupdf), true) = (said("pdfium"), said("mupdf"), text.status.success()) else {
            return Ok(None);
        };
        let boxes = Command::new("pdftotext").args(["-bbox", "-cropbox"]).arg(file).arg("-").output()?;
        Ok(Some(Peers {
            poppler: words(&String::from_utf8_lossy(&text.stdout)),
            pdfium,
            mupdf,
            boxes: placed(&String::from_utf8_lossy(&boxes.stdout)),
        }))
    }
}

/// The words in what `pdftotext -bbox` prints.
fn placed(xml: &str) -> Vec<Placed> {
    let mut all = Vec::new();
    let mut page = 0;
    for line in xml.lines().map(str::trim) {
        if line.starts_with("<page ") {
            page += 1;
        }
        let Some(word) = line.strip_prefix("<word ") else { continue };
        let attribute = |name: &str| -> Option<f32> {
            let (_, rest) = word.split_once(&format!("{name}=\""))?;
            rest.split_once('"')?.0.parse().ok()
        };
        let bounds = [attribute("xMin"), attribute("yMin"), attribute("xMax"), attribute("yMax")];
        let [Some(x0), Some(y0), Some(x1), Some(y1)] = bounds else { continue };
        let text =
            word.split_once('>').and_then(|(_, rest)| rest.strip_suffix("</word>")).unwrap_or_default();
        let text =
            text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'");
        let text = normalise(&text.replace("&amp;", "&"));
        all.push(Placed { page, text, bounds: [x0, y0, x1, y1] });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::placed;

    #[test]
    fn words_are_found_with_their_page_and_box() {
        let xml = "<page width=\"1\">\n  <word xMin=\"1.5\" yMin=\"2\" xMax=\"3\" yMax=\"4\">A&amp;b</word>\n</page>";
        let all = placed(xml);
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].page, all[0].text.as_str(), all[0].bounds), (1, "a&b", [1.5, 2.0, 3.0, 4.0]));
    }
}
