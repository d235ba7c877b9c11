//! The plain form: lines of at most 76 characters that read well in every mail program and in a terminal.

use super::{Written, link};
use crate::shown;

/// No line is longer, but for an address of a page: broken in two it leads nowhere.
const WIDTH: usize = 76;
/// What stands before a name.
const MARK: &str = "    - ";

pub(super) fn write(letter: &Written<'_>) -> String {
    let digest = letter.digest;
    let mut out = Lines::default();
    out.wrapped("", letter.subject);
    out.wrapped("", &letter.occasion());
    for section in letter.sections {
        out.blank();
        let title =
            format!("{} ({})", section.kind.title().to_uppercase(), shown::number(section.count as u64));
        out.wrapped("", &title);
        out.wrapped("", section.kind.meaning());
        for cause in &section.causes {
            out.blank();
            let code = cause.code.map(|code| format!(" ({})", code.name())).unwrap_or_default();
            out.wrapped("  ", &format!("{}{code}", cause.sentence(section.kind)));
            if let Some(next) = cause.next(section.kind) {
                out.wrapped("  ", &format!("Next step: {next}"));
            }
            for entry in &cause.named {
                out.line(&format!("{MARK}{}", shown::name(&entry.name, WIDTH - MARK.len())));
                if let Some(link) = entry.page.as_deref().and_then(|page| link(digest, page)) {
                    out.line(&format!("      {link}"));
                }
            }
            if cause.more() > 0 {
                out.line(&format!("    and {} more", shown::number(cause.more() as u64)));
            }
        }
    }
    out.blank();
    if let Some(link) = digest.page.as_deref().and_then(|page| link(digest, page)) {
        out.line(&format!("All of them: {link}"));
    }
    out.wrapped("", FOOT);
    out.text
}

/// The end of both forms.
pub(super) const FOOT: &str = "A digest is sent when something changed, and not otherwise.";

#[derive(Default)]
struct Lines {
    text: String,
}

impl Lines {
    fn blank(&mut self) {
        self.text.push('\n');
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Words with an indent, broken between words.
    fn wrapped(&mut self, indent: &str, words: &str) {
        let mut line = String::new();
        let mut length = 0;
        for word in words.split(' ') {
            let count = word.chars().count();
            if length > 0 && indent.len() + length + 1 + count > WIDTH {
                self.line(&format!("{indent}{line}"));
                line.clear();
                length = 0;
            }
            if length > 0 {
                line.push(' ');
                length += 1;
            }
            line.push_str(word);
            length += count;
        }
        self.line(&format!("{indent}{line}"));
    }
}
