//! The lines of a list, however wrong it is: none is longer than a manifest's, and what is no text is said by its line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::exit::{Exit, Stop};

/// As long as a line of a manifest may be.
const LONGEST: usize = 256 * 1024;
/// What some editors put before everything else.
const MARK: char = '\u{feff}';

/// Line by line, without the ends of lines.
pub(super) struct Lines {
    from: BufReader<File>,
    path: PathBuf,
    read: u64,
}

impl Lines {
    pub(super) fn of(file: File, path: &Path) -> Self {
        Self { from: BufReader::new(file), path: path.to_owned(), read: 0 }
    }

    fn next_line(&mut self) -> io::Result<Option<Result<String, &'static str>>> {
        let mut line = Vec::new();
        if Read::by_ref(&mut self.from).take(LONGEST as u64 + 1).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        self.read += 1;
        if line.len() > LONGEST {
            return Ok(Some(Err("is too long for a URL")));
        }
        let text = String::from_utf8(line).map_err(|_| "is no text");
        Ok(Some(text.map(|text| text.trim_start_matches(MARK).trim().to_owned())))
    }
}

impl Iterator for Lines {
    type Item = Result<String, Stop>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = match self.next_line() {
            Ok(line) => line?,
            Err(error) => return Some(Err(Stop::from(error))),
        };
        let wrong = |what| {
            let text = format!(
                "nothing was fetched: {} line {} {what}; a list has one URL a line",
                self.path.display(),
                self.read
            );
            Stop::new(Exit::Usage, text)
        };
        Some(line.map_err(wrong))
    }
}

/// A file without the mark before everything else, where it has one.
pub(super) fn unmarked(text: &str) -> &str {
    text.trim_start_matches(MARK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(content: &[u8]) -> Vec<Result<String, String>> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        let lines = Lines::of(File::open(file.path()).unwrap(), Path::new("urls.txt"));
        // Whoever reads them stops at the first that is wrong.
        let mut wrong = false;
        let lines = lines.take_while(|line| !std::mem::replace(&mut wrong, line.is_err()));
        lines.map(|line| line.map_err(|stop| stop.message().to_owned())).collect()
    }

    #[test]
    fn a_mark_and_ends_of_lines_are_no_part_of_a_line() {
        let read = lines("\u{feff}https://a.example/1\r\n\n https://a.example/2 ".as_bytes());
        let expected = ["https://a.example/1", "", "https://a.example/2"];
        assert_eq!(read, expected.map(|line| Ok(line.to_owned())));
    }

    #[test]
    fn what_is_no_line_of_text_is_said_by_its_number() {
        let [first, second] = &lines(b"https://a.example/1\n\xff\xfe\n")[..] else { panic!() };
        assert!(first.is_ok());
        assert_eq!(
            second.as_ref().unwrap_err(),
            "nothing was fetched: urls.txt line 2 is no text; a list has one URL a line"
        );
        let endless = [b"https://a.example/", vec![b'x'; 3 * LONGEST].as_slice()].concat();
        let [only] = &lines(&endless)[..] else { panic!() };
        assert!(only.as_ref().unwrap_err().contains("line 1 is too long for a URL"), "{only:?}");
    }
}
