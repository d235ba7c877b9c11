//! What the file itself says about its structure.

use crate::kit::{read, text_of, with_entries};
use redrive_gateway::page::{Document, Role};

/// A page with marked content 0, 1, 2 … and a tree of elements; object 6 is the tree's root.
fn tagged(contents: &[&str], root: &str, elements: &[&str]) -> Document {
    let content: String = contents
        .iter()
        .enumerate()
        .map(|(at, text)| {
            let y = 700 - 20 * at;
            format!("/X <</MCID {at}>> BDC BT /F1 10 Tf 50 {y} Td ({text}) Tj ET EMC ")
        })
        .collect();
    let mut more = vec![root.as_bytes().to_vec()];
    more.extend(elements.iter().map(|element| element.as_bytes().to_vec()));
    read(with_entries("/StructTreeRoot 6 0 R/MarkInfo<</Marked true>>", "", &content, &more))
}

#[test]
fn roles_and_order_come_from_the_tree() {
    let document = tagged(
        &["last", "first", "middle"],
        "<</Type/StructTreeRoot/RoleMap<</Big/H2>>/K[7 0 R 8 0 R 9 0 R]>>",
        &[
            "<</S/Big/Pg 3 0 R/K 1>>",
            "<</S/P/Pg 3 0 R/K[<</S/Span/K[2]>>]>>",
            "<</S/L/Pg 3 0 R/K<</S/LI/K<</S/LBody/K<</S/P/K 0>>>>>>>>",
        ],
    );
    let page = &document.pages[0];
    let said: Vec<(Role, String)> =
        page.blocks.iter().map(|block| (block.role, text_of(page, block))).collect();
    assert_eq!(
        said,
        [
            (Role::Heading(2), "first".to_owned()),
            (Role::Paragraph, "middle".to_owned()),
            (Role::ListItem, "last".to_owned()),
        ]
    );
    assert!(page.blocks.iter().all(|block| block.tagged));
}

#[test]
fn cells_know_their_row_and_column() {
    let document = tagged(
        &["head", "a", "b"],
        "<</Type/StructTreeRoot/K[7 0 R]>>",
        &["<</S/Table/Pg 3 0 R/K[<</S/TR/K[<</S/TH/A<</O/Table/ColSpan 2>>/K 0>>]>>\
           <</S/TR/K[<</S/TD/K 1>><</S/TD/K 2>>]>>]>>"],
    );
    let roles: Vec<Role> = document.pages[0].blocks.iter().map(|block| block.role).collect();
    let cell = |row, column| Role::Cell { table: 0, row, column };
    assert_eq!(roles, [cell(0, 0), cell(1, 0), cell(1, 1)]);
}

#[test]
fn a_figure_says_what_it_shows() {
    let document = tagged(
        &["text"],
        "<</Type/StructTreeRoot/K[7 0 R 8 0 R]>>",
        &[
            "<</S/Figure/Pg 3 0 R/Alt(a red house)/A<</O/Layout/BBox[10 20 30 60]>>>>",
            "<</S/P/Pg 3 0 R/K 0>>",
        ],
    );
    let page = &document.pages[0];
    assert_eq!(page.blocks[0].role, Role::Figure);
    assert_eq!(text_of(page, &page.blocks[0]), "a red house");
    let bounds = page.blocks[0].bounds;
    assert_eq!((bounds.x0, bounds.y0, bounds.x1, bounds.y1), (10.0, 740.0, 30.0, 780.0));
}

#[test]
fn text_in_a_container_keeps_its_words_whole() {
    let content = "/Span <</MCID 0>> BDC BT /F1 10 Tf 50 700 Td (Everest) Tj EMC /Span <</MCID 1>> BDC (, high) Tj EMC ET";
    let root = "<</Type/StructTreeRoot/K[<</S/Div/Pg 3 0 R/K[<</S/Span/K 0>><</S/Span/K 1>>]>>]>>";
    let document = read(with_entries("/StructTreeRoot 6 0 R", "", content, &[root.as_bytes().to_vec()]));
    let page = &document.pages[0];
    assert_eq!(page.blocks.len(), 1);
    assert_eq!(text_of(page, &page.blocks[0]), "Everest, high");
}

#[test]
fn artifacts_come_last_and_are_called_so() {
    let content = "/Artifact BMC BT /F1 10 Tf 50 780 Td (head) Tj ET EMC \
                   /P <</MCID 0>> BDC BT /F1 10 Tf 50 700 Td (text) Tj ET EMC";
    let more = ["<</Type/StructTreeRoot/K[<</S/P/Pg 3 0 R/K 0>>]>>".as_bytes().to_vec()];
    let document = read(with_entries("/StructTreeRoot 6 0 R", "", content, &more));
    let roles: Vec<Role> = document.pages[0].blocks.iter().map(|block| block.role).collect();
    assert_eq!(roles, [Role::Paragraph, Role::Artifact]);
}

#[test]
fn a_tree_that_bites_its_tail_ends() {
    let document = tagged(
        &["text"],
        "<</Type/StructTreeRoot/K[7 0 R]>>",
        &["<</S/Sect/Pg 3 0 R/K[7 0 R 8 0 R]>>", "<</S/P/Pg 3 0 R/K[7 0 R 0]>>"],
    );
    assert_eq!(document.pages[0].blocks.len(), 1);
}

#[test]
fn language_title_and_labels_are_read() {
    let file = with_entries(
        "/Lang(de-CH)/PageLabels<</Nums[0<</S/r/St 4>>]>>",
        "",
        "BT /F1 10 Tf 50 700 Td (x) Tj ET",
        &[b"<</Title<FEFF00DC0062>/Author(Me)>>".to_vec()],
    );
    let file = String::from_utf8(file).unwrap().replace("/Root 1 0 R", "/Root 1 0 R/Info 6 0 R").into_bytes();
    let document = read(file);
    assert_eq!(document.language.as_deref(), Some("de-CH"));
    assert_eq!(document.title.as_deref(), Some("Üb"));
    assert_eq!(document.author.as_deref(), Some("Me"));
    assert_eq!(document.pages[0].label.as_deref(), Some("iv"));
    assert_eq!(document.version.as_deref(), Some("1.7"));
}
