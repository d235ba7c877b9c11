//! Whether bytes are a PDF, told while they pass: names and types that clients give are hints at most.
//!
//! `%PDF-` must stand within the first 1,024 bytes, and near the end there must be what a reader starts from: `startxref`, a
//! trailer or a cross-reference stream. So a page of HTML behind a PDF's first line is none.

use bytes::Bytes;
use memchr::memmem;

/// The signature must stand within this.
const HEAD: usize = 1_024;
/// What a reader starts from must stand within this from the end. Signed and appended files carry some ballast there.
const TAIL: usize = 16 * 1_024;

/// The beginning and the end of what passed.
#[derive(Debug, Default)]
pub(crate) struct Sniff {
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Sniff {
    /// Takes more bytes.
    pub(crate) fn push(&mut self, chunk: &Bytes) {
        let room = HEAD.saturating_sub(self.head.len()).min(chunk.len());
        self.head.extend_from_slice(chunk.get(..room).unwrap_or_default());
        let last = chunk.get(chunk.len().saturating_sub(TAIL)..).unwrap_or_default();
        self.tail.extend_from_slice(last);
        if self.tail.len() > 2 * TAIL {
            self.tail.drain(..self.tail.len() - TAIL);
        }
    }

    /// Whether more bytes cannot make it a PDF any more.
    pub(crate) fn is_hopeless(&self) -> bool {
        self.head.len() >= HEAD && !self.has_signature()
    }

    /// Whether all of it is a PDF.
    pub(crate) fn is_pdf(&self) -> bool {
        let tail = self.tail.get(self.tail.len().saturating_sub(TAIL)..).unwrap_or_default();
        self.has_signature()
            && [&b"startxref"[..], b"trailer", b"/XRef"].iter().any(|mark| memmem::find(tail, mark).is_some())
    }

    fn has_signature(&self) -> bool {
        memmem::find(&self.head, b"%PDF-").is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sniff(bytes: &[u8], piece: usize) -> Sniff {
        let mut sniff = Sniff::default();
        for chunk in bytes.chunks(piece) {
            sniff.push(&Bytes::copy_from_slice(chunk));
        }
        sniff
    }

    fn padded(before: usize, after: usize) -> Vec<u8> {
        let mut bytes = vec![b'\n'; before];
        bytes.extend(b"%PDF-1.7\n");
        bytes.extend(vec![b' '; 100_000]);
        bytes.extend(b"startxref\n0\n%%EOF");
        bytes.extend(vec![b'\n'; after]);
        bytes
    }

    #[test]
    fn what_is_a_pdf_is_told_whatever_the_pieces() {
        let png = [&b"\x89PNG\r\n\x1a\n"[..], &[0; 2_000]].concat();
        let polyglot = [&b"%PDF-1.4\n<html><body>"[..], &[b'x'; 40_000], b"</body></html>"].concat();
        for (bytes, expected) in [
            (padded(0, 0), true),
            (padded(1_019, 0), true),
            (padded(1_020, 0), false),
            (padded(0, 16_000), true),
            (padded(0, 17_000), false),
            (b"%PDF-1.1\ntrailer<</Root 1 0 R>>".to_vec(), true),
            (b"%PDF-1.5\n1 0 obj<</Type/XRef>>".to_vec(), true),
            (b"%PDF-".to_vec(), false),
            (b"%PDF".to_vec(), false),
            (b"startxref".to_vec(), false),
            (Vec::new(), false),
            (png, false),
            (polyglot, false),
        ] {
            for piece in [1, 7, 1_000, 65_536, 1 << 20] {
                assert_eq!(
                    sniff(&bytes, piece).is_pdf(),
                    expected,
                    "{} bytes in pieces of {piece}",
                    bytes.len()
                );
            }
        }
    }

    #[test]
    fn hopeless_is_known_early_and_memory_is_small() {
        assert!(!sniff(&[b'x'; 1_023], 100).is_hopeless());
        assert!(sniff(&[b'x'; 1_024], 100).is_hopeless());
        assert!(!sniff(&padded(0, 0), 100).is_hopeless());
        let large = sniff(&vec![b'x'; 10 << 20], 1 << 20);
        assert!(large.head.len() <= HEAD && large.tail.len() <= 2 * TAIL);
    }
}
