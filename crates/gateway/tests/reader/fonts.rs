//! Which characters codes mean.

use crate::kit::{each_word, read, stream, with_font, words};

fn shown(font: &str, bytes: &str, more: &[Vec<u8>]) -> String {
    let content = format!("BT /F1 10 Tf 50 700 Td <{bytes}> Tj ET");
    let document = read(with_font(font, &content, more));
    words(&document.pages[0]).join(" ")
}

fn type1(entries: &str) -> String {
    format!("<</Type/Font/Subtype/Type1/BaseFont/Helvetica{entries}>>")
}

#[test]
fn the_standard_encodings_differ_where_they_should() {
    assert_eq!(shown(&type1("/Encoding/WinAnsiEncoding"), "80E4", &[]), "€ä");
    assert_eq!(shown(&type1("/Encoding/MacRomanEncoding"), "8ADB", &[]), "ä¤");
    assert_eq!(shown(&type1("/Encoding/StandardEncoding"), "E1A4", &[]), "Æ⁄");
    assert_eq!(shown(&type1(""), "27", &[]), "’");
    assert_eq!(shown("<</Type/Font/Subtype/Type1/BaseFont/Symbol>>", "6162", &[]), "αβ");
    assert_eq!(shown("<</Type/Font/Subtype/Type1/BaseFont/ZapfDingbats>>", "33", &[]), "✓");
}

#[test]
fn differences_speak_in_glyph_names() {
    let font = type1("/Encoding<</Differences[1/germandbls/uni20AC/u1F600/f_i/a.alt]>>");
    assert_eq!(shown(&font, "0102030405", &[]), "ß€\u{1F600}fia");
}

#[test]
fn a_map_to_unicode_wins_over_names() {
    let map = b"begincmap 1 beginbfchar <41> <0058> endbfchar 1 beginbfrange <42> <43> [<00660069> <D83DDE00>] endbfrange endcmap";
    let font = type1("/Encoding/WinAnsiEncoding/ToUnicode 6 0 R");
    assert_eq!(shown(&font, "41424344", &[stream("", map)]), "Xfi\u{1F600}D");
}

fn composite(encoding: &str, info: &str, entries: &str) -> String {
    format!(
        "<</Type/Font/Subtype/Type0/BaseFont/ABCDEF+Some/Encoding/{encoding}{entries}/DescendantFonts[<</Type/Font\
         /Subtype/CIDFontType2/BaseFont/ABCDEF+Some/CIDSystemInfo<</Registry(Adobe)/Ordering({info})/Supplement 0>>\
         /DW 1000>>]>>"
    )
}

#[test]
fn a_composite_font_is_read_by_its_map() {
    let map = b"begincmap 1 beginbfrange <0001> <0003> <0061> endbfrange endcmap";
    let font = composite("Identity-H", "Identity", "/ToUnicode 6 0 R");
    assert_eq!(shown(&font, "000100020003", &[stream("", map)]), "abc");
}

#[test]
fn chinese_japanese_and_korean_need_no_map() {
    assert_eq!(shown(&composite("90ms-RKSJ-H", "Japan1", ""), "82A082A2", &[]), "あい");
    assert_eq!(shown(&composite("UniGB-UCS2-H", "GB1", ""), "4E2D", &[]), "中");
    assert_eq!(shown(&composite("Identity-H", "Japan1", ""), "034B", &[]), "あ");
    assert_eq!(shown(&composite("KSCms-UHC-H", "Korea1", ""), "B0A1", &[]), "가");
    assert_eq!(shown(&composite("ETen-B5-H", "CNS1", ""), "A440", &[]), "一");
}

#[test]
fn a_glyph_that_nobody_knows_is_counted() {
    let content = "BT /F1 10 Tf 50 700 Td <00010002> Tj ET";
    let document = read(with_font(&composite("Identity-H", "Identity", ""), content, &[]));
    assert_eq!(document.warnings.unmapped_glyphs, 2);
    assert_eq!(words(&document.pages[0]), ["\u{FFFD}\u{FFFD}"]);
}

#[test]
fn what_xml_forbids_is_replaced_and_counted() {
    let map = b"begincmap 1 beginbfchar <41> <0001> endbfchar endcmap";
    let font = type1("/ToUnicode 6 0 R");
    let content = "BT /F1 10 Tf 50 700 Td (AB) Tj ET";
    let document = read(with_font(&font, content, &[stream("", map)]));
    assert_eq!(document.warnings.replaced_characters, 1);
    assert_eq!(words(&document.pages[0]), ["\u{FFFD}B"]);
}

#[test]
fn type_3_fonts_are_read_by_the_names_of_their_glyphs() {
    let font = "<</Type/Font/Subtype/Type3/FontBBox[0 0 1000 1000]/FontMatrix[0.001 0 0 0.001 0 0]\
                /CharProcs<</a 6 0 R/b 6 0 R>>/Encoding<</Differences[1/a/b]>>/FirstChar 1/LastChar 2/Widths[600 600]>>";
    assert_eq!(shown(font, "0102", &[stream("", b"600 0 d0")]), "ab");
}

#[test]
fn glyphs_without_a_telling_name_are_taken_for_their_codes() {
    let font = "<</Type/Font/Subtype/Type3/FontBBox[0 0 1000 1000]/FontMatrix[0.001 0 0 0.001 0 0]\
                /CharProcs<</65 6 0 R/7 6 0 R>>/Encoding<</Differences[1/7 65/65]>>/FirstChar 1/LastChar 65/Widths[600]>>";
    assert_eq!(shown(font, "0141", &[stream("", b"600 0 d0")]), "7A");
}

#[test]
fn a_truetype_font_without_an_encoding_was_made_for_windows() {
    let font = "<</Type/Font/Subtype/TrueType/BaseFont/Arial>>";
    assert_eq!(shown(font, "2760E4", &[]), "'`ä");
}

#[test]
fn the_second_hyphen_of_windows_is_seen() {
    assert_eq!(shown(&type1("/Encoding/WinAnsiEncoding"), "61AD62", &[]), "a-b");
}

#[test]
fn widths_move_the_pen() {
    let font = type1("/FirstChar 65/LastChar 66/Widths[500 1000]");
    let content = "BT /F1 10 Tf 50 700 Td (AB) Tj ET";
    let document = read(with_font(&font, content, &[]));
    let word = each_word(&document.pages[0]).next().unwrap();
    assert!(
        (word.bounds.x0 - 50.0).abs() < 0.01 && (word.bounds.x1 - 65.0).abs() < 0.01,
        "{:?}",
        word.bounds
    );
}

#[test]
fn a_hostile_table_of_widths_costs_nothing() {
    let font =
        "<</Type/Font/Subtype/TrueType/BaseFont/X/FirstChar 4000000000/LastChar 4100000000/Widths[1]>>";
    assert_eq!(shown(font, "4142", &[]), "AB");
    let font = composite("UniGB-UCS2-H", "GB1", "").replace("/DW 1000", "/W[0 4294967295 500]");
    assert_eq!(shown(&font, "4E2D", &[]), "中");
}

#[test]
fn a_font_is_named_and_described_once() {
    let document = read(redrive_gateway::sample::page(
        "BT /F2 10 Tf 50 700 Td (a) Tj /F1 10 Tf 100 0 Td (b) Tj /F2 10 Tf 100 0 Td (c) Tj ET",
    ));
    let names: Vec<&str> = document.fonts.iter().map(|font| font.name.as_str()).collect();
    assert_eq!(names, ["Times-Bold", "Helvetica"]);
    assert_eq!(document.fonts[0].weight, 700);
    assert!(document.fonts[0].serif && !document.fonts[1].serif);
    let used: Vec<u16> = each_word(&document.pages[0]).map(|word| word.font).collect();
    assert_eq!(used, [0, 1, 0]);
}
