//! What every mapping promises: legal XML, the same words, the same bytes, no name from a document.

use std::collections::BTreeSet;

use proptest::prelude::*;
use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::Event;
use redrive_gateway::page::{Document, Role};
use redrive_gateway::write::verify::{Limits, verify};
use redrive_gateway::write::{Mapping, write};

use crate::documents::{any_document, rich, wild};

pub(crate) fn written(mapping: Mapping, document: &Document) -> (String, u64) {
    let mut out = Vec::new();
    let replaced = write(mapping, document, &mut out).unwrap();
    (String::from_utf8(out).unwrap(), replaced)
}

/// What a parser gives back: element names, and texts with where they stood.
#[derive(Default)]
struct Parsed {
    names: BTreeSet<String>,
    /// Path of element names, and the text or the attribute `CONTENT`.
    texts: Vec<(Vec<String>, String)>,
}

fn parse(xml: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let mut path: Vec<String> = Vec::new();
    let mut reader = Reader::from_str(xml);
    let mut text = String::new();
    loop {
        let event = reader.read_event().unwrap();
        if let Event::Start(tag) | Event::Empty(tag) = &event {
            let name = String::from_utf8(tag.name().as_ref().to_vec()).unwrap();
            parsed.names.insert(name.clone());
            path.push(name);
            text.clear();
            for attribute in tag.attributes() {
                let attribute = attribute.unwrap();
                parsed.names.insert(String::from_utf8(attribute.key.as_ref().to_vec()).unwrap());
                if attribute.key.as_ref() == b"CONTENT" {
                    let raw = std::str::from_utf8(&attribute.value).unwrap();
                    parsed.texts.push((path.clone(), unescape(raw).unwrap().into_owned()));
                }
            }
        }
        match event {
            Event::Text(piece) => text.push_str(&piece.decode().unwrap()),
            Event::GeneralRef(piece) => {
                text.push_str(&unescape(&format!("&{};", piece.decode().unwrap())).unwrap());
            }
            Event::Empty(_) => {
                path.pop();
                text.clear();
            }
            Event::End(_) => {
                parsed.texts.push((path.clone(), std::mem::take(&mut text)));
                path.pop();
            }
            Event::Eof => return parsed,
            _ => {}
        }
    }
}

/// The values of all attributes of these names.
fn values(xml: &str, names: &[&str]) -> Vec<String> {
    let pieces = names.iter().flat_map(|name| {
        let begin = format!(" {name}=\"");
        xml.split(&begin).skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect::<Vec<_>>()
    });
    pieces.collect()
}

#[test]
fn references_lead_somewhere_and_ids_are_unique() {
    let (xml, _) = written(Mapping::Alto, &rich());
    let ids = values(&xml, &["ID"]);
    let known: BTreeSet<&String> = ids.iter().collect();
    assert_eq!(known.len(), ids.len(), "an id is there twice");
    let references = values(&xml, &["STYLEREFS", "TAGREFS"]);
    assert!(references.len() > 40);
    for reference in &references {
        assert!(known.contains(reference), "{reference} leads nowhere");
    }
}

/// What a text must look like after it was written and read.
fn filtered(text: &str) -> String {
    let replace = |c: char| match c {
        '\t' | '\n' | '\r' => c,
        '\0'..='\u{1F}' | '\u{FFFE}' | '\u{FFFF}' => '\u{FFFD}',
        c => c,
    };
    text.chars().map(replace).collect()
}

fn words(document: &Document) -> Vec<String> {
    let mut all = Vec::new();
    for page in &document.pages {
        for line in page.blocks.iter().flat_map(|block| &block.lines) {
            all.extend(line.words.iter().map(|word| filtered(page.text_of(word))));
        }
    }
    all
}

/// Every name that a writer knows. A name that comes from elsewhere is not in here.
fn known(mapping: Mapping) -> BTreeSet<&'static str> {
    let names = match mapping {
        Mapping::Text => {
            "document xmlns version title author language pages fonts font id name weight italic fixed serif page \
             number label width height block x y role level table row column tagged line baseline direction angle \
             word size"
        }
        Mapping::Alto => {
            "alto xmlns SCHEMAVERSION Description MeasurementUnit Styles TextStyle ID FONTFAMILY FONTTYPE FONTWIDTH \
             FONTSTYLE FONTSIZE Tags StructureTag LABEL Layout Page PHYSICAL_IMG_NR PRINTED_IMG_NR HEIGHT WIDTH LANG \
             PrintSpace HPOS VPOS ComposedBlock TYPE TextBlock Illustration TAGREFS ROTATION TextLine BASELINE \
             BASEDIRECTION String STYLEREFS CONTENT SUBS_TYPE SUBS_CONTENT SP HYP"
        }
        Mapping::Tei => {
            "TEI xmlns xml:lang teiHeader fileDesc titleStmt title author publicationStmt sourceDesc p text body pb n \
             div head list item table row cell note place figure figDesc fw rend"
        }
        Mapping::Docbook => {
            "article xmlns version xml:lang info title author personname section para role footnote itemizedlist \
             listitem table informaltable tgroup cols tbody row entry figure informalfigure mediaobject textobject \
             phrase"
        }
    };
    names.split_whitespace().collect()
}

fn check(mapping: Mapping, document: &Document) -> Parsed {
    let (xml, _) = written(mapping, document);
    let limits = Limits { depth: 16, bytes: xml.len() as u64 };
    verify(xml.as_bytes(), limits).unwrap_or_else(|fault| panic!("{}: {fault}\n{xml}", mapping.name()));
    assert_eq!(written(mapping, document).0, xml, "the same document gave other bytes");
    let parsed = parse(&xml);
    let known = known(mapping);
    let foreign: Vec<_> = parsed.names.iter().filter(|name| !known.contains(name.as_str())).collect();
    assert!(foreign.is_empty(), "{}: {foreign:?}", mapping.name());
    parsed
}

#[test]
fn the_rich_document_is_legal_in_every_mapping() {
    for mapping in Mapping::ALL {
        check(mapping, &rich());
        check(mapping, &Document::default());
    }
}

#[test]
fn replaced_characters_are_counted() {
    for mapping in Mapping::ALL {
        let (xml, replaced) = written(mapping, &rich());
        assert_eq!(replaced, 3, "{}", mapping.name());
        assert_eq!(xml.matches('\u{FFFD}').count(), 3, "{}", mapping.name());
    }
}

#[test]
fn divided_words_are_whole_again() {
    let whole = "Words that are hyphenated at the end, in Baden-Württemberg as elsewhere.";
    assert!(written(Mapping::Tei, &rich()).0.contains(&format!("<p>{whole}</p>")));
    assert!(written(Mapping::Docbook, &rich()).0.contains(&format!("<para>{whole}</para>")));
    let alto = written(Mapping::Alto, &rich()).0;
    assert!(alto.contains("CONTENT=\"hyphen\" SUBS_TYPE=\"HypPart1\" SUBS_CONTENT=\"hyphenated\"/>"));
    assert!(alto.contains("<HYP CONTENT=\"-\"/>"));
    assert!(alto.contains("CONTENT=\"ated\" SUBS_TYPE=\"HypPart2\" SUBS_CONTENT=\"hyphenated\"/>"));
    assert!(alto.contains("CONTENT=\"Baden-\"/>"), "a hyphen that belongs to the word was taken away");
}

#[test]
fn sections_nest_and_none_is_empty() {
    let docbook: Vec<String> =
        written(Mapping::Docbook, &rich()).0.lines().map(|line| line.trim().to_owned()).collect();
    let at = |text: &str| docbook.iter().position(|line| line == text).unwrap_or_else(|| panic!("no {text}"));
    assert_eq!(docbook[at("<title>A jump</title>") - 1], "<section>");
    assert_eq!(docbook[at("<title>A jump</title>") - 2], "<title>One &amp; &lt;only&gt;</title>");
    assert_eq!(docbook[at("<title>Empty section</title>") + 1], "<para/>");
    assert_eq!(docbook[at("<title>Empty section</title>") + 2], "</section>");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn any_document_is_legal_in_every_mapping(document in any_document(wild())) {
        for mapping in Mapping::ALL {
            let parsed = check(mapping, &document);
            match mapping {
                Mapping::Text => {
                    let is_word = |path: &[String]| path.last().is_some_and(|name| name == "word");
                    let mut found: Vec<String> =
                        parsed.texts.into_iter().filter(|(path, _)| is_word(path)).map(|(_, text)| text).collect();
                    // An empty word is an empty element, which has no text to find.
                    found.retain(|word| !word.is_empty());
                    let mut expected = words(&document);
                    expected.retain(|word| !word.is_empty());
                    prop_assert_eq!(found, expected);
                }
                Mapping::Alto => {
                    let mut found: Vec<String> = Vec::new();
                    for (path, content) in parsed.texts {
                        match path.last().map(String::as_str) {
                            Some("String") => found.push(content),
                            Some("HYP") => found.last_mut().unwrap().push_str(&content),
                            _ => {}
                        }
                    }
                    prop_assert_eq!(found, words(&document));
                }
                Mapping::Tei | Mapping::Docbook => {}
            }
        }
    }

    #[test]
    fn every_word_is_in_the_text_once(document in any_document("[a-zäß<>&\"]{1,8}".boxed())) {
        for (mapping, root) in [(Mapping::Tei, "text"), (Mapping::Docbook, "article")] {
            let parsed = check(mapping, &document);
            let inside = |path: &[String]| path.iter().any(|name| name == root) && path.iter().all(|name| name != "info");
            let mut found: Vec<String> = parsed
                .texts
                .iter()
                .filter(|(path, _)| inside(path))
                .flat_map(|(_, text)| text.split_whitespace().map(str::to_owned))
                .collect();
            found.sort();
            let mut expected: Vec<String> = Vec::new();
            for page in &document.pages {
                let kept = page.blocks.iter().filter(|block| mapping == Mapping::Tei || block.role != Role::Artifact);
                for word in kept.flat_map(|block| &block.lines).flat_map(|line| &line.words) {
                    expected.push(page.text_of(word).to_owned());
                }
            }
            expected.sort();
            prop_assert_eq!(found, expected, "{}", mapping.name());
        }
    }
}
