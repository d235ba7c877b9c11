//! Annotations and form fields show their text, as a viewer does.

use crate::kit::{read, stream, with_entries, words};

const FORM: &str = "/Type/XObject/Subtype/Form/BBox[0 0 100 20]/Resources<</Font<</F1 5 0 R>>>>";

fn with_annotation(catalog: &str, annotation: &str) -> Vec<String> {
    let file = with_entries(
        catalog,
        "/Annots[6 0 R]",
        "",
        &[annotation.as_bytes().to_vec(), stream(FORM, b"BT /F1 10 Tf 2 5 Td (Appearance) Tj ET")],
    );
    words(&read(file).pages[0]).into_iter().map(ToOwned::to_owned).collect()
}

#[test]
fn an_appearance_is_read_unless_it_is_hidden() {
    let stamp =
        |flags: u32| format!("<</Type/Annot/Subtype/Stamp/Rect[50 50 150 70]/F {flags}/AP<</N 7 0 R>>>>");
    assert_eq!(with_annotation("", &stamp(4)), ["Appearance"]);
    assert!(with_annotation("", &stamp(2)).is_empty());
    assert!(with_annotation("", &stamp(32)).is_empty());
}

const FIELD: &str = "<</Type/Annot/Subtype/Widget/FT/Tx/T(a)/V(Value)/DA(/F1 10 Tf)/Rect[50 50 150 70]/F 4";
const FORM_ENTRY: &str = "/AcroForm<</Fields[6 0 R]/DR<</Font<</F1 5 0 R>>>>";

#[test]
fn a_field_shows_its_appearance_or_else_its_value() {
    let catalog = format!("{FORM_ENTRY}>>");
    assert_eq!(with_annotation(&catalog, &format!("{FIELD}/AP<</N 7 0 R>>>>")), ["Appearance"]);
    assert_eq!(with_annotation(&catalog, &format!("{FIELD}>>")), ["Value"]);
}

#[test]
fn stale_appearances_give_way_to_the_value() {
    let catalog = format!("{FORM_ENTRY}/NeedAppearances true>>");
    assert_eq!(with_annotation(&catalog, &format!("{FIELD}/AP<</N 7 0 R>>>>")), ["Value"]);
}

#[test]
fn a_password_is_not_shown() {
    let catalog = format!("{FORM_ENTRY}>>");
    assert!(with_annotation(&catalog, &format!("{FIELD}/Ff 8192>>")).is_empty());
}
