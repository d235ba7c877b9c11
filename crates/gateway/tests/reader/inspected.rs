//! A file's properties.

use crate::kit::{stream, with_entries};
use redrive_gateway::pdf::{Limits, Properties, inspect};
use redrive_gateway::sample;

fn properties(file: Vec<u8>) -> Properties {
    inspect(file, &Limits::default()).expect("the file can be opened")
}

#[test]
fn a_plain_file_has_plain_properties() {
    let file = sample::hello();
    let size = file.len();
    let found = properties(file);
    assert_eq!((found.version.as_str(), found.pages, found.images), ("1.7", 1, 0));
    assert_eq!(found.bytes, u64::try_from(size).unwrap());
    let fonts: Vec<(&str, &str, bool)> =
        found.fonts.iter().map(|font| (font.name.as_str(), font.kind.as_str(), font.embedded)).collect();
    assert_eq!(fonts, [("Helvetica", "Type1", false), ("Times-Bold", "Type1", false)]);
    let quiet =
        [found.encrypted, found.repaired, found.javascript, found.attachments, found.forms, found.tagged];
    assert_eq!(quiet, [false; 6]);
}

#[test]
fn scripts_files_forms_tags_and_pictures_are_seen() {
    let catalog = "/Names<</JavaScript<<>>/EmbeddedFiles<<>>>>/AcroForm<</Fields[5 0 R]>>/StructTreeRoot<<>>";
    let page = "/Resources<</XObject<</A 6 0 R/B 6 0 R/C 7 0 R>>>>";
    let picture = stream("/Type/XObject/Subtype/Image/Width 1/Height 1", b"x");
    let form = stream("/Type/XObject/Subtype/Form/Resources<</XObject<</D 8 0 R>>>>", b"");
    let found = properties(with_entries(catalog, page, "", &[picture.clone(), form, picture]));
    assert!(found.javascript && found.attachments && found.forms && found.tagged);
    assert_eq!(found.images, 2);
}
