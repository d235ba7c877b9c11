//! Where words begin and end, and where they lie.

use crate::kit::{each_word, lines, page, read, with_entries, words};
use redrive_gateway::page::{Direction, Rect};

fn close(a: Rect, b: [f32; 4]) -> bool {
    [a.x0 - b[0], a.y0 - b[1], a.x1 - b[2], a.y1 - b[3]].iter().all(|d| d.abs() < 0.05)
}

#[test]
fn spaces_and_gaps_part_words_and_kerning_does_not() {
    let page = page("BT /F1 10 Tf 50 700 Td [(Ker) 30 (ning) -300 (gap)] TJ ( and space) Tj ET");
    assert_eq!(words(&page), ["Kerning", "gap", "and", "space"]);
}

#[test]
fn character_and_word_spacing_move_the_pen() {
    // A Helvetica `a` is 5.56 wide at 10 points.
    let page = page("BT /F1 10 Tf 1 Tc 7 Tw 50 Tz 50 700 Td (a a) Tj ET");
    let boxes: Vec<Rect> = each_word(&page).map(|word| word.bounds).collect();
    assert!(close(boxes[0], [50.0, 92.82, 52.78, 102.07]), "{boxes:?}");
    // Half of a (5.56) + 1, of a space (2.78) + 1 + 7.
    assert!((boxes[1].x0 - (50.0 + (5.56 + 1.0 + 2.78 + 1.0 + 7.0) / 2.0)).abs() < 0.01, "{boxes:?}");
}

#[test]
fn letters_that_are_spaced_out_make_one_word() {
    let page = page("BT /F1 10 Tf 2 Tc 50 700 Td (SPACED) Tj ET");
    assert_eq!(words(&page), ["SPACED"]);
}

#[test]
fn text_that_is_drawn_twice_is_read_once() {
    let twice = "BT /F1 10 Tf 50 700 Td (Bold) Tj ET BT /F1 10 Tf 50.3 700 Td (Bold) Tj ET";
    assert_eq!(words(&page(twice)), ["Bold"]);
    let letters = "BT /F1 10 Tf 1 0 0 1 50 700 Tm (B) Tj 1 0 0 1 50.3 700 Tm (B) Tj ET";
    assert_eq!(words(&page(letters)), ["B"]);
    let first = "BT /F1 24 Tf 50 700 Td (f) Tj 0 0 TD (face) Tj ET";
    assert_eq!(words(&page(first)), ["face"]);
}

#[test]
fn invisible_text_is_read() {
    assert_eq!(words(&page("BT 3 Tr /F1 10 Tf 50 700 Td (scanned) Tj ET")), ["scanned"]);
}

#[test]
fn replacement_text_stands_for_what_is_drawn() {
    let page = page("/Span<</ActualText<FEFF0066006600740078>>> BDC BT /F1 10 Tf 50 700 Td (xyz) Tj ET EMC");
    assert_eq!(words(&page), ["fftx"]);
    let word = each_word(&page).next().unwrap();
    assert!((word.bounds.x1 - word.bounds.x0 - 15.0).abs() < 0.1, "{:?}", word.bounds);
}

#[test]
fn exponents_stay_with_their_word() {
    let page = page("BT /F1 10 Tf 50 700 Td (x) Tj 4 Ts /F1 6 Tf (2) Tj 0 Ts /F1 10 Tf ( next) Tj ET");
    assert_eq!(words(&page), ["x2", "next"]);
    assert_eq!(lines(&page).count(), 1);
}

#[test]
fn text_beside_a_large_initial_is_no_exponent() {
    let page = page(
        "BT /F1 36 Tf 50 680 Td (O) Tj ET BT /F1 12 Tf 80 700 Td (nce upon a time) Tj 0 -14 Td (a king had) Tj ET",
    );
    assert_eq!(lines(&page).count(), 3);
}

#[test]
fn text_that_lies_on_other_text_is_a_word_by_itself() {
    let page = page("BT /F1 10 Tf 50 700 Td (100) Tj ET BT /F1 10 Tf 61.12 700 Td (7) Tj ET");
    assert_eq!(words(&page), ["100", "7"]);
}

#[test]
fn text_outside_of_the_page_is_not_read() {
    assert_eq!(words(&page("BT /F1 10 Tf 50 900 Td (off) Tj 0 -200 Td (on) Tj ET")), ["on"]);
}

#[test]
fn the_crop_box_is_the_page() {
    let file = with_entries("", "/CropBox[100 100 300 400]", "BT /F1 10 Tf 150 300 Td (in) Tj ET", &[]);
    let page = read(file).pages.remove(0);
    assert_eq!((page.width, page.height), (200.0, 300.0));
    let word = each_word(&page).next().unwrap();
    assert!(
        (word.bounds.x0 - 50.0).abs() < 0.01 && (word.bounds.y1 - 102.07).abs() < 0.01,
        "{:?}",
        word.bounds
    );
}

#[test]
fn a_turned_page_is_read_as_seen() {
    for (turn, x, y) in [(90, "0 1 -1 0 100 700", (700.0, 100.0)), (180, "-1 0 0 -1 500 100", (100.0, 100.0))]
    {
        let content = format!("BT /F1 10 Tf {x} Tm (up) Tj ET");
        let file = with_entries("", &format!("/Rotate {turn}"), &content, &[]);
        let page = read(file).pages.remove(0);
        let line = lines(&page).next().unwrap();
        assert_eq!(line.direction, Direction::LeftToRight, "turned by {turn}");
        assert!((line.bounds.x0 - y.0).abs() < 0.1 && (line.baseline - y.1).abs() < 0.1, "{turn}: {line:?}");
    }
}

#[test]
fn sideways_and_slanted_text_keeps_its_words() {
    let up = page("BT /F1 10 Tf 0 1 -1 0 100 400 Tm (reads upwards) Tj ET");
    assert_eq!(words(&up), ["reads", "upwards"]);
    assert_eq!(lines(&up).next().unwrap().direction, Direction::Rotated(270));
    let slanted = page("BT /F1 20 Tf 0.7071 0.7071 -0.7071 0.7071 100 400 Tm (DRAFT only) Tj ET");
    assert_eq!(words(&slanted), ["DRAFT", "only"]);
    assert_eq!(lines(&slanted).next().unwrap().direction, Direction::Rotated(315));
}

#[test]
fn forms_draw_their_text_in_their_place() {
    let form = crate::kit::stream(
        "/Type/XObject/Subtype/Form/BBox[0 0 100 100]/Matrix[1 0 0 1 20 0]/Resources<</Font<</F1 5 0 R>>>>",
        b"BT /F1 10 Tf 0 0 Td (inside) Tj ET",
    );
    let mut file = redrive_gateway::sample::Builder::new();
    file.add("<</Type/Catalog/Pages 2 0 R>>");
    file.add("<</Type/Pages/Count 1/Kids[3 0 R]>>");
    file.add(
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</XObject<</X 6 0 R>>>>>>",
    );
    file.stream("", b"q 2 0 0 2 100 100 cm /X Do Q");
    file.add("<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>");
    file.add(form);
    let page = read(file.build()).pages.remove(0);
    let word = each_word(&page).next().unwrap();
    assert_eq!(page.text_of(word), "inside");
    assert!((word.bounds.x0 - 140.0).abs() < 0.01 && (word.size - 20.0).abs() < 0.01, "{word:?}");
}

#[test]
fn a_layer_that_is_off_is_not_read() {
    let catalog = "/OCProperties<</OCGs[6 0 R 7 0 R]/D<</OFF[6 0 R]>>>>";
    let content = "/OC /L1 BDC BT /F1 10 Tf 50 700 Td (off) Tj ET EMC /OC /L2 BDC BT /F1 10 Tf 50 600 Td (on) Tj ET EMC";
    let layer = b"<</Type/OCG/Name(x)>>".to_vec();
    let page = "/Resources<</Font<</F1 5 0 R>>/Properties<</L1 6 0 R/L2 7 0 R>>>>";
    let file = with_entries(catalog, page, content, &[layer.clone(), layer]);
    // The entry for resources comes twice; the last one wins.
    assert_eq!(words(&read(file).pages[0]), ["on"]);
}

#[test]
fn the_same_bytes_give_the_same_document() {
    let file = redrive_gateway::sample::hello();
    assert_eq!(read(file.clone()), read(file));
}
