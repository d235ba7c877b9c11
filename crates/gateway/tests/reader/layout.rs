//! Lines, columns, directions and guessed roles.

use crate::kit::{lines, page, read, text_of, with_font, words};
use redrive_gateway::page::{Direction, Role};
use redrive_gateway::sample;

/// Lines of running text, 12 points apart.
fn column(x: u32, top: u32, name: &str, count: u32) -> String {
    let lines = (0..count).map(|at| {
        let y = top - 12 * at;
        format!("BT /F1 10 Tf {x} {y} Td ({name}{at} some words that fill the whole line here) Tj ET ")
    });
    lines.collect()
}

fn firsts(page: &redrive_gateway::page::Page) -> Vec<&str> {
    lines(page).filter_map(|line| line.words.first()).map(|word| page.text_of(word)).collect()
}

#[test]
fn columns_are_read_one_after_the_other() {
    let right = column(320, 700, "r", 5);
    let left = column(50, 700, "l", 5);
    let page = page(&format!("{right}{left}"));
    assert_eq!(firsts(&page), ["l0", "l1", "l2", "l3", "l4", "r0", "r1", "r2", "r3", "r4"]);
}

#[test]
fn a_title_across_the_columns_comes_first() {
    let title = "BT /F1 20 Tf 100 740 Td (A title that is wider than a single column is) Tj ET ";
    let page = page(&format!("{}{title}{}", column(320, 700, "r", 5), column(50, 700, "l", 5)));
    assert_eq!(firsts(&page)[..3], ["A", "l0", "l1"]);
}

#[test]
fn paragraphs_are_parted_by_a_gap() {
    let page = page(&format!("{}{}", column(50, 700, "a", 3), column(50, 640, "b", 2)));
    assert_eq!(page.blocks.len(), 2);
    assert!(text_of(&page, &page.blocks[1]).starts_with("b0"));
}

#[test]
fn larger_text_is_a_heading_and_numbers_at_the_foot_are_not_text() {
    let body = |name: &str| format!("{} BT /F1 10 Tf 300 30 Td (7) Tj ET", column(50, 700, name, 6));
    let first = format!("BT /F2 18 Tf 50 740 Td (Chapter) Tj ET {}", body("a"));
    let second = format!("BT /F2 14 Tf 50 740 Td (Section) Tj ET {}", body("b"));
    let document = read(sample::pages(&[&first, &second]));
    let roles = |page: usize| -> Vec<Role> { document.pages[page].blocks.iter().map(|b| b.role).collect() };
    assert_eq!(roles(0), [Role::Heading(1), Role::Paragraph, Role::Artifact]);
    assert_eq!(roles(1), [Role::Heading(2), Role::Paragraph, Role::Artifact]);
}

#[test]
fn what_every_page_repeats_at_its_head_is_not_text() {
    let with_head = |number: u32, name: &str| {
        format!("BT /F1 9 Tf 50 770 Td (The running head, page {number}) Tj ET {}", column(50, 600, name, 4))
    };
    let document = read(sample::pages(&[&with_head(1, "a"), &with_head(2, "b")]));
    for page in &document.pages {
        assert_eq!(page.blocks[0].role, Role::Artifact);
        assert_eq!(page.blocks[1].role, Role::Paragraph);
    }
}

#[test]
fn bullets_and_numbers_begin_items() {
    let page = page(
        "BT /F1 10 Tf 50 700 Td (\\225 first thing) Tj 0 -12 Td (\\225 second thing) Tj 0 -12 Td (3. third) Tj ET",
    );
    let roles: Vec<Role> = page.blocks.iter().map(|block| block.role).collect();
    assert_eq!(roles, [Role::ListItem; 3]);
}

/// A font that turns the letters a to z into Hebrew ones.
fn hebrew(content: &str) -> Vec<u8> {
    let map = b"begincmap 1 beginbfrange <61> <7A> <05D0> endbfrange endcmap";
    let font = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding/ToUnicode 6 0 R>>";
    with_font(font, content, &[crate::kit::stream("", map)])
}

#[test]
fn right_to_left_text_is_read_in_spoken_order() {
    // As seen from left to right: number, space, the second word backwards, space, the first word backwards.
    let document = read(hebrew("BT /F1 10 Tf 50 700 Td (12 fed cba) Tj ET"));
    let page = &document.pages[0];
    assert_eq!(words(page), ["אבג", "דהו", "12"]);
    let line = lines(page).next().unwrap();
    assert_eq!(line.direction, Direction::RightToLeft);
    assert!(line.words[0].bounds.x0 > line.words[2].bounds.x1);
}

#[test]
fn letters_that_were_drawn_from_right_to_left_make_the_same_words() {
    let letters =
        "BT /F1 10 Tf 1 0 0 1 70 700 Tm (a) Tj 1 0 0 1 64.44 700 Tm (b) Tj 1 0 0 1 59.44 700 Tm (c) Tj ET";
    let document = read(hebrew(letters));
    assert_eq!(words(&document.pages[0]), ["אבג"]);
}

#[test]
fn vertical_text_runs_down_and_its_lines_to_the_left() {
    let font = "<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/UniJIS-UCS2-V/DescendantFonts[<</Type/Font\
                /Subtype/CIDFontType0/BaseFont/X/CIDSystemInfo<</Registry(Adobe)/Ordering(Japan1)/Supplement 0>>>>]>>";
    let content = "BT /F1 10 Tf 100 700 Td <30423044> Tj ET BT /F1 10 Tf 120 700 Td <30463048> Tj ET";
    let document = read(with_font(font, content, &[]));
    let page = &document.pages[0];
    assert_eq!(words(page), ["うえ", "あい"]);
    let line = lines(page).next().unwrap();
    assert_eq!(line.direction, Direction::Vertical);
    assert!((line.bounds.y1 - line.bounds.y0 - 20.0).abs() < 0.01, "{:?}", line.bounds);
}

#[test]
fn a_table_is_read_row_by_row() {
    let rows: String = (0..4)
        .map(|row| {
            let y = 700 - 14 * row;
            format!("BT /F1 10 Tf 50 {y} Td (a{row}) Tj 100 0 Td (b{row}) Tj 100 0 Td (c{row}) Tj ET ")
        })
        .collect();
    let page = page(&rows);
    assert_eq!(words(&page)[..6], ["a0", "b0", "c0", "a1", "b1", "c1"]);
    assert_eq!(page.blocks[4].role, Role::Cell { table: 0, row: 1, column: 1 });
}
