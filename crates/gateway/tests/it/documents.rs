//! Documents for tests: one with everything in it, and any other.

use proptest::prelude::*;
use redrive_gateway::page::{Block, Direction, Document, Font, Line, Page, Rect, Role, Warnings, Word};

/// A page that grows block by block.
#[derive(Default)]
pub(crate) struct Sheet {
    pub(crate) page: Page,
}

impl Sheet {
    pub(crate) fn new(number: u32) -> Self {
        Self { page: Page { number, width: 595.276, height: 841.89, ..Page::default() } }
    }

    /// Adds a block; its lines are the lines of the text, its words stand between blanks.
    pub(crate) fn block(mut self, role: Role, text: &str) -> Self {
        let lines = text.lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect();
        self.add(role, Direction::LeftToRight, lines);
        self
    }

    pub(crate) fn add(&mut self, role: Role, direction: Direction, lines: Vec<Vec<String>>) {
        let top = self.page.blocks.len() as f32 * 40.0;
        let lines: Vec<Line> = (0..)
            .zip(&lines)
            .map(|(n, words)| {
                let y0 = top + n as f32 * 12.0;
                let words = (0..).zip(words).map(|(m, text)| {
                    let start = self.page.text.len() as u32;
                    self.page.text.push_str(text);
                    let x0 = 72.5 + m as f32 * 33.337;
                    Word {
                        text: start..self.page.text.len() as u32,
                        bounds: Rect { x0, y0, x1: x0 + 30.0, y1: y0 + 10.0 },
                        font: (m % 2) as u16,
                        size: 9.96,
                    }
                });
                let bounds = Rect { x0: 72.5, y0, x1: 500.0, y1: y0 + 10.0 };
                Line { bounds, baseline: y0 + 8.0, direction, words: words.collect() }
            })
            .collect();
        let bounds = Rect { x0: 72.5, y0: top, x1: 500.0, y1: top + 30.0 };
        self.page.blocks.push(Block { bounds, role, tagged: true, lines });
    }
}

pub(crate) fn fonts() -> Vec<Font> {
    let font =
        |name: &str, weight, italic, fixed, serif| Font { name: name.into(), weight, italic, fixed, serif };
    vec![
        font("Times-Roman", 400, false, false, true),
        font("Courier-\"Bold\"<Oblique>", 700, true, true, false),
    ]
}

/// Every role and direction, a jump of levels, odd characters, an empty page.
pub(crate) fn rich() -> Document {
    let cell = |table, row, column| Role::Cell { table, row, column };
    let mut first = Sheet::new(1)
        .block(Role::Artifact, "Running head")
        .block(Role::Paragraph, "Before any heading.")
        .block(Role::Heading(1), "One & <only>")
        .block(Role::Heading(4), "A jump")
        .block(
            Role::Paragraph,
            "Words that are hyphen-\nated at the end, in Baden-\nWürttemberg as else-\nwhere.",
        )
        .block(Role::ListItem, "• first")
        .block(Role::ListItem, "• second")
        .block(Role::Caption, "Table 1: numbers")
        .block(cell(0, 0, 0), "a")
        .block(cell(0, 0, 2), "c")
        .block(cell(0, 1, 1), "d e\nf")
        .block(cell(0, 1, 1), "twice")
        .block(cell(1, 0, 0), "of another table")
        .block(Role::Heading(2), "")
        .block(Role::Heading(2), "Empty section")
        .block(Role::Heading(2), "Last\tone")
        .block(Role::Figure, "a cat on a mat")
        .block(Role::Caption, "Figure 1")
        .block(Role::Caption, "A caption of nothing")
        .block(Role::Note, "1 A note.");
    first.add(Role::Figure, Direction::LeftToRight, Vec::new());
    first.page.label = Some("iv".into());
    let mut second = Sheet::new(2);
    let words = |text: &str| vec![text.split(' ').map(str::to_owned).collect::<Vec<_>>()];
    second.add(Role::Paragraph, Direction::RightToLeft, words("שלום עולם"));
    second.add(Role::Paragraph, Direction::Vertical, words("縦書き の 本"));
    second.add(Role::Paragraph, Direction::Rotated(90), words("DRAFT ONLY"));
    second.add(Role::Paragraph, Direction::Rotated(360), vec![Vec::new(), vec![String::new()]]);
    second.add(
        Role::Paragraph,
        Direction::LeftToRight,
        words("]]> <!-- \u{0}\u{1B}\u{FFFF} \r\n \"quoted\" &amp; 💣"),
    );
    second.add(Role::Heading(6), Direction::LeftToRight, words("The end"));
    Document {
        version: Some("1.7".into()),
        title: Some("Title <of> \"it\"".into()),
        author: Some("A & B".into()),
        language: Some("en-GB".into()),
        page_count: 3,
        fonts: fonts(),
        pages: vec![first.page, second.page, Sheet::new(3).page],
        warnings: Warnings::default(),
    }
}

fn role() -> impl Strategy<Value = Role> {
    prop_oneof![
        3 => Just(Role::Paragraph),
        3 => any::<u8>().prop_map(|level| Role::Heading(level % 8)),
        2 => Just(Role::ListItem),
        3 => (0..2_u16, 0..4_u16, 0..4_u16).prop_map(|(table, row, column)| Role::Cell { table, row, column }),
        1 => (any::<u16>(), any::<u16>()).prop_map(|(row, column)| Role::Cell { table: 0, row, column }),
        2 => Just(Role::Caption),
        1 => Just(Role::Note),
        1 => Just(Role::Artifact),
        2 => Just(Role::Figure),
    ]
}

fn direction() -> impl Strategy<Value = Direction> {
    prop_oneof![
        Just(Direction::LeftToRight),
        Just(Direction::RightToLeft),
        Just(Direction::Vertical),
        any::<u16>().prop_map(Direction::Rotated),
    ]
}

/// Any text: letters, markup, controls, line ends, hyphens, all of Unicode.
pub(crate) fn wild() -> BoxedStrategy<String> {
    prop_oneof![
        "[a-z]{0,8}-?",
        "[<>&\"'\\]-]{1,4}",
        "[\\x00-\\x1f]{1,3}",
        any::<String>(),
        Just("\u{FFFE}\u{FFFF}\u{FDD0}\u{AD}".to_owned()),
    ]
    .boxed()
}

fn maybe(text: BoxedStrategy<String>) -> impl Strategy<Value = Option<String>> {
    proptest::option::of(text)
}

/// Any document whose words come from `text`.
pub(crate) fn any_document(text: BoxedStrategy<String>) -> impl Strategy<Value = Document> {
    let lines = proptest::collection::vec(proptest::collection::vec(text, 0..5), 0..4);
    let blocks = proptest::collection::vec((role(), direction(), lines), 0..12);
    let page = (any::<u32>(), maybe(wild()), blocks, any::<f32>(), any::<f32>()).prop_map(
        |(number, label, blocks, width, shift)| {
            let mut sheet = Sheet::new(number);
            for (role, direction, lines) in blocks {
                sheet.add(role, direction, lines);
            }
            sheet.page.width = width;
            sheet.page.label = label;
            for block in &mut sheet.page.blocks {
                block.bounds.x0 = shift;
                block.tagged = shift > 0.0;
                for line in &mut block.lines {
                    line.baseline = shift;
                }
            }
            sheet.page
        },
    );
    let pages = proptest::collection::vec(page, 0..3);
    (pages, maybe(wild()), maybe(wild()), maybe(wild()), 0..3_usize).prop_map(
        |(pages, title, author, language, fonts_known)| Document {
            version: author.clone(),
            title,
            author,
            language,
            page_count: 7,
            fonts: fonts().into_iter().take(fonts_known).collect(),
            pages,
            warnings: Warnings::default(),
        },
    )
}
