//! The result: one file that holds the XML, then a report, then the lengths of both.
//!
//! The child writes it, the parent reads it. The parent believes nothing in it before the lengths fit the file.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

use serde::{Deserialize, Serialize};

use crate::convert::{Refusal, Warning};

const MAGIC: &[u8; 8] = b"redriveG";
/// Two lengths and the magic.
const FOOTER: u64 = 24;
/// No report is longer.
pub(super) const MAX_REPORT: u64 = 16 * 1024;

/// What the child says at its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Report {
    pub(super) outcome: Result<Summary, Refusal>,
    /// Why the child ran without its filter, where the kernel has none.
    pub(super) unfiltered: Option<String>,
}

/// What is known about a result beside its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// How many pages were converted; nothing for a file that was only looked at.
    pub pages: Option<u32>,
    /// What a careful reader should know.
    pub warnings: Vec<Warning>,
}

/// A result that is ready to be read.
#[derive(Debug)]
pub struct Output {
    file: File,
    length: u64,
    /// What is known about it.
    pub summary: Summary,
}

impl Output {
    pub(super) fn new(file: File, length: u64, summary: Summary) -> Self {
        Self { file, length, summary }
    }

    /// How many bytes.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Reads up to `limit` bytes from a position; nothing at the end.
    pub fn read_at(&self, position: u64, limit: usize) -> io::Result<Vec<u8>> {
        let left = usize::try_from(self.length.saturating_sub(position)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; left.min(limit)];
        self.file.read_exact_at(&mut bytes, position)?;
        Ok(bytes)
    }
}

/// Adds the report after `length` bytes of result.
pub(super) fn finish(file: &mut File, length: u64, report: &Report) -> io::Result<()> {
    let report = serde_json::to_vec(report)?;
    file.seek(SeekFrom::Start(length))?;
    let mut tail = report.clone();
    tail.extend(length.to_le_bytes());
    tail.extend((report.len() as u64).to_le_bytes());
    tail.extend(MAGIC);
    file.write_all(&tail)
}

/// The length of the result and the report, if the child wrote them to the end.
pub(super) fn parse(file: &File) -> io::Result<Option<(u64, Report)>> {
    let size = file.metadata()?.len();
    let Some(end) = size.checked_sub(FOOTER) else { return Ok(None) };
    let mut footer = [0; 24];
    file.read_exact_at(&mut footer, end)?;
    let (lengths, magic) = footer.split_at(16);
    let number = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).unwrap_or(u64::MAX);
    let (first, second) = lengths.split_at(8);
    let (length, report) = (number(first), number(second));
    if magic != MAGIC || report > MAX_REPORT || length.checked_add(report) != Some(end) {
        return Ok(None);
    }
    let mut bytes = vec![0; usize::try_from(report).unwrap_or_default()];
    file.read_exact_at(&mut bytes, length)?;
    Ok(serde_json::from_slice(&bytes).ok().map(|report| (length, report)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let summary = Summary { pages: Some(3), warnings: vec![Warning::Repaired] };
        Report { outcome: Ok(summary), unfiltered: None }
    }

    #[test]
    fn a_report_comes_back_and_its_xml_is_apart() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"<a/>").unwrap();
        finish(&mut file, 4, &report()).unwrap();
        let (length, found) = parse(&file).unwrap().unwrap();
        assert_eq!((length, &found), (4, &report()));
        let output = Output::new(file, length, found.outcome.unwrap());
        assert_eq!(output.read_at(0, 3).unwrap(), b"<a/");
        assert_eq!(output.read_at(3, 100).unwrap(), b">");
        assert_eq!(output.read_at(4, 100).unwrap(), b"");
    }

    #[test]
    fn a_file_that_breaks_off_or_lies_is_no_report() {
        let mut whole = tempfile::tempfile().unwrap();
        finish(&mut whole, 0, &report()).unwrap();
        let size = whole.metadata().unwrap().len();
        let mut bytes = vec![0; usize::try_from(size).unwrap()];
        whole.read_exact_at(&mut bytes, 0).unwrap();
        for length in 0..bytes.len() {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&bytes[..length]).unwrap();
            assert_eq!(parse(&file).unwrap(), None, "{length} bytes");
        }
        for at in bytes.len() - 24..bytes.len() {
            let mut lie = bytes.clone();
            lie[at] ^= 0x80;
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&lie).unwrap();
            assert_eq!(parse(&file).unwrap(), None, "byte {at}");
        }
    }
}
