use std::path::{Path, PathBuf};
use std::process::Command;

use redrive_gateway::PdfReader;
use redrive_gateway::convert::Reader;
use redrive_gateway::page::Document;
use redrive_gateway::sample;
use redrive_gateway::write::{Mapping, Schema, write};

use super::*;
use crate::parts::plan::plan;

/// Parts that lie in memory.
struct Made {
    ranges: Vec<Range>,
    parts: Vec<Vec<u8>>,
}

impl Parts for Made {
    fn ranges(&self) -> &[Range] {
        &self.ranges
    }

    fn open(&mut self, part: usize) -> io::Result<Box<dyn BufRead + '_>> {
        // A few bytes at a time: what is read must not depend on how it comes.
        Ok(Box::new(io::BufReader::with_capacity(7, self.parts[part].as_slice())))
    }
}

fn read(pdf: &[u8]) -> Document {
    PdfReader::default().read(pdf.to_vec(), None).unwrap()
}

fn written(document: &Document, mapping: Mapping) -> Vec<u8> {
    let mut out = Vec::new();
    write(mapping, document, &mut out).unwrap();
    out
}

/// A range of a document as a reader of that range gives it: with its own fonts, in the order of their first use.
fn only(document: &Document, range: Range) -> Document {
    let mut part = document.clone();
    part.pages.retain(|page| (range.first..=range.last).contains(&page.number));
    let mut fonts: Vec<u16> = Vec::new();
    let words = part.pages.iter_mut().flat_map(|page| &mut page.blocks);
    for word in words.flat_map(|block| &mut block.lines).flat_map(|line| &mut line.words) {
        let at = fonts.iter().position(|font| *font == word.font).unwrap_or_else(|| {
            fonts.push(word.font);
            fonts.len() - 1
        });
        word.font = u16::try_from(at).unwrap();
    }
    part.fonts = fonts.into_iter().map(|font| document.fonts[usize::from(font)].clone()).collect();
    part
}

fn cut(document: &Document, mapping: Mapping, per_part: u32) -> Made {
    let ranges = plan(document.page_count, per_part);
    let parts = ranges.iter().map(|range| written(&only(document, *range), mapping)).collect();
    Made { ranges, parts }
}

fn joined(mut made: Made) -> Result<String, Unjoined> {
    let mut out = Vec::new();
    assemble(&mut made, &mut out)?;
    redrive_gateway_client::check_whole(&out).unwrap();
    Ok(String::from_utf8(out).unwrap())
}

/// Pages whose fonts and sizes come and go.
fn pages(count: u32) -> Document {
    let contents: Vec<String> = (1..=count)
        .map(|n| {
            let (font, size) = (if n % 3 == 0 { "F2" } else { "F1" }, 10 + n % 4);
            let (y, z) = (600 - 17 * n, 300 - 11 * n);
            format!(
                "BT /{font} {size} Tf 72 {y} Td (word{n} says <&> \"it\") Tj ET BT /F1 12 Tf 90 {z} Td (more{n} of it) Tj ET"
            )
        })
        .collect();
    read(&sample::pages(&contents.iter().map(String::as_str).collect::<Vec<_>>()))
}

/// Documents and schemas that lie beside the project.
fn shared(folder: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(folder)
}

fn schema(mapping: Mapping, folder: &Path) -> Option<PathBuf> {
    let shared = |path: &str| Some(shared("xsd").join(path)).filter(|file| file.is_file());
    match mapping {
        Mapping::Text => {
            let Schema::Own(text) = mapping.schema() else { return None };
            std::fs::write(folder.join("text.xsd"), text).unwrap();
            Some(folder.join("text.xsd"))
        }
        Mapping::Alto => shared("alto-4-4.xsd"),
        Mapping::Tei => shared("tei/tei_all.xsd"),
        Mapping::Docbook => shared("docbook5/docbook.xsd"),
    }
}

/// Asks `xmllint`, where there is one, against the format's own schema.
fn is_valid(mapping: Mapping, xml: &str) {
    let folder = tempfile::tempdir().unwrap();
    let Some(schema) = schema(mapping, folder.path()) else {
        println!("skipped: there is no schema for {mapping:?}");
        return;
    };
    let file = folder.path().join("joined.xml");
    std::fs::write(&file, xml).unwrap();
    let asked = Command::new("xmllint")
        .args(["--noout", "--nonet", "--huge", "--schema"])
        .args([&schema, &file])
        .output();
    match asked {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => println!("skipped: xmllint: {error}"),
    }
}

#[test]
fn what_lies_on_pages_is_what_a_conversion_of_the_whole_gives() {
    let document = pages(11);
    assert!(document.fonts.len() > 1);
    for mapping in [Mapping::Text, Mapping::Alto] {
        let whole = String::from_utf8(written(&document, mapping)).unwrap();
        for per_part in [1, 2, 3, 5, 10] {
            let joined = joined(cut(&document, mapping, per_part)).unwrap();
            let differs = joined.lines().zip(whole.lines()).find(|(a, b)| a != b);
            assert!(joined == whole, "{mapping:?} {per_part}: {differs:?}");
        }
        is_valid(mapping, &whole);
    }
}

#[test]
fn running_text_has_a_division_for_each_part_and_is_valid() {
    let document = pages(7);
    for mapping in [Mapping::Tei, Mapping::Docbook] {
        let joined = joined(cut(&document, mapping, 3)).unwrap();
        is_valid(mapping, &joined);
        let at = |text: &str| joined.find(text).unwrap_or_else(|| panic!("{text} is missing"));
        let marks = match mapping {
            Mapping::Tei => ["n=\"1-3\"", "n=\"4-5\"", "n=\"6-7\""],
            _ => ["Pages 1–3", "Pages 4–5", "Pages 6–7"],
        };
        let order = [marks[0], "word1 ", "more3 ", marks[1], "word4 ", marks[2], "word6 ", "more7 "];
        assert!(order.windows(2).all(|pair| at(pair[0]) < at(pair[1])), "{mapping:?}");
        assert_eq!(joined.matches("Untitled").count(), 1, "one head");
        if mapping == Mapping::Tei {
            for n in 1..=7 {
                assert_eq!(joined.matches(&format!("<pb n=\"{n}\"/>")).count(), 1);
            }
        }
    }
}

#[test]
fn a_real_book_is_joined_and_valid_in_every_mapping() {
    let book = shared("pdfs").join("25-many-pages-GeoTopo-komprimiert.pdf");
    let Ok(pdf) = std::fs::read(&book) else {
        println!("skipped: there is no {}", book.display());
        return;
    };
    let ranges = plan(117, 40);
    let read =
        |range: &Range| PdfReader::default().read(pdf.clone(), Some(range.first..=range.last)).unwrap();
    let documents: Vec<Document> = ranges.iter().map(read).collect();
    for mapping in Mapping::ALL {
        let parts = documents.iter().map(|document| written(document, mapping)).collect();
        is_valid(mapping, &joined(Made { ranges: ranges.clone(), parts }).unwrap());
    }
}

#[test]
fn what_we_do_not_know_is_not_joined() {
    let document = pages(4);
    let broken = |mapping: Mapping, from: &str, to: &str| {
        let mut made = cut(&document, mapping, 2);
        let text = String::from_utf8(made.parts[1].clone()).unwrap();
        assert!(text.contains(from), "{mapping:?} {from}");
        made.parts[1] = text.replacen(from, to, 1).into_bytes();
        match joined(made) {
            Err(Unjoined::Unknown(why)) => why,
            other => panic!("{mapping:?} {from} {to}: {}", other.is_ok()),
        }
    };
    for (mapping, from, to) in [
        (Mapping::Text, "pages=\"4\"", "pages=\"5\""),
        (Mapping::Text, "number=\"3\"", "number=\"1\""),
        (Mapping::Text, "font=\"0\"", "font=\"9\""),
        (Mapping::Text, "<page ", "<extra/><page "),
        (Mapping::Alto, "inch1200", "pixel"),
        (Mapping::Alto, "<Layout>", "<Layout STYLEREFS=\"s1\">"),
        (Mapping::Alto, "ID=\"p1b1\"", "ID=\"block\""),
        (Mapping::Alto, "PHYSICAL_IMG_NR=\"3\"", "PHYSICAL_IMG_NR=\"1\""),
        (Mapping::Alto, "ID=\"p1b1\"", "ID=\"p1b1\" IDNEXT=\"p1b2\""),
        (Mapping::Tei, "<pb n=\"3\"/>", ""),
        (Mapping::Tei, "<pb n=\"3\"/>", "<pb n=\"3\" xml:id=\"a\"/>"),
        (Mapping::Tei, "<body>", "<front/><body>"),
        (Mapping::Docbook, "<para>", "<para xml:id=\"a\">"),
        (Mapping::Docbook, "<info>", "<para/><info>"),
    ] {
        broken(mapping, from, to);
    }
    // A gateway that does not know ranges answers every one of them with the whole.
    for mapping in [Mapping::Text, Mapping::Alto, Mapping::Tei] {
        let whole = written(&document, mapping);
        let made = Made { ranges: plan(4, 2), parts: vec![whole.clone(), whole] };
        assert!(matches!(joined(made), Err(Unjoined::Unknown(_))), "{mapping:?}");
    }
    for other in [
        "<other/>",
        "<other></other>",
        "<x:TEI xmlns:x='http://www.tei-c.org/ns/1.0'></x:TEI>",
        "<TEI></TEI>",
    ] {
        let made = Made { ranges: plan(2, 1), parts: vec![other.into(), other.into()] };
        assert!(matches!(joined(made), Err(Unjoined::Unknown(_))), "{other}");
    }
}

#[test]
fn a_part_that_cannot_be_read_is_told_from_one_that_is_not_known() {
    struct Away(Vec<Range>);
    impl Parts for Away {
        fn ranges(&self) -> &[Range] {
            &self.0
        }
        fn open(&mut self, _: usize) -> io::Result<Box<dyn BufRead + '_>> {
            struct Fails;
            impl io::Read for Fails {
                fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                    Err(io::Error::other("the wire is cut"))
                }
            }
            Ok(Box::new(io::BufReader::new(Fails)))
        }
    }
    let error = assemble(&mut Away(plan(2, 1)), &mut Vec::new()).unwrap_err();
    assert!(matches!(&error, Unjoined::Io(_)) && error.to_string().contains("wire"), "{error:?}");
}
