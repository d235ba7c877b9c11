//! Every code point through a writer, read by a parser that has nothing to do with ours.

use std::io::Write as _;
use std::process::{Command, Stdio};

use redrive_gateway::page::{Document, Role};
use redrive_gateway::write::{Mapping, write};

use crate::documents::Sheet;
use crate::tools;

/// Reads the document with expat and prints the code points of every word's text and of every `CONTENT`.
const EXPAT: &str = r#"
import sys
from xml.parsers import expat
found, inside = [], [False]
def start(name, attributes):
    if name == "word": found.append(""); inside[0] = True
    if name == "String": found.append(attributes["CONTENT"])
def end(name): inside[0] = False
def text(data):
    if inside[0]: found[-1] += data
p = expat.ParserCreate()
p.buffer_text = True
p.StartElementHandler, p.EndElementHandler, p.CharacterDataHandler = start, end, text
p.Parse(sys.stdin.buffer.read(), True)
print("\n".join(" ".join(str(ord(c)) for c in word) for word in found))
"#;

#[test]
fn every_code_point_survives_or_is_replaced() {
    if !tools::has("python3") {
        return;
    }
    let all: Vec<char> = ('\0'..=char::MAX).collect();
    // Each between two letters, so that nothing is trimmed unseen; many words, so that none is absurdly long.
    let words: Vec<String> =
        all.chunks(4096).map(|chunk| chunk.iter().flat_map(|&c| ['a', c]).collect()).collect();
    let mut sheet = Sheet::new(1);
    sheet.add(Role::Paragraph, Default::default(), vec![words.clone()]);
    let document = Document { pages: vec![sheet.page], ..Document::default() };
    // What XML 1.0 says in its production 2, written down once more.
    let legal = |c: u32| matches!(c, 0x9 | 0xA | 0xD | 0x20..=0xD7FF | 0xE000..=0xFFFD | 0x10000..=0x10FFFF);
    let expected: Vec<Vec<u32>> = words
        .iter()
        .map(|word| word.chars().map(|c| if legal(c.into()) { c.into() } else { 0xFFFD }).collect())
        .collect();
    for mapping in [Mapping::Text, Mapping::Alto] {
        let mut xml = Vec::new();
        let replaced = write(mapping, &document, &mut xml).unwrap();
        assert_eq!(replaced, 29 + 2, "29 controls, U+FFFE and U+FFFF");
        let mut child = Command::new("python3")
            .args(["-c", EXPAT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&xml).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "expat refused {}", mapping.name());
        let found: Vec<Vec<u32>> = String::from_utf8(output.stdout)
            .unwrap()
            .lines()
            .map(|line| line.split(' ').map(|number| number.parse().unwrap()).collect())
            .collect();
        assert!(found == expected, "{}: a character changed", mapping.name());
    }
}
