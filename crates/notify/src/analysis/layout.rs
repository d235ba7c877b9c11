//! The document's look: styles, boxes and tables. Nothing here knows what is written.

use docx_rs::{
    BorderType, Docx, Footer, LineSpacing, LineSpacingType, NumPages, PageMargin, PageNum, Paragraph, Run,
    RunFonts, Shading, Style, StyleType, Tab, TabValueType, Table, TableBorder, TableBorderPosition,
    TableBorders, TableCell, TableCellBorder, TableCellBorderPosition, TableCellMargins, TableLayoutType,
    TableRow, VAlignType, WidthType,
};

use super::issues::Severity;

/// A sheet of A4 and what lies between its margins, in twentieths of a point.
const PAGE: (u32, u32) = (11_906, 16_838);
const MARGIN: i32 = 1_134;
pub(super) const WIDTH: usize = 9_638;

const INK: &str = "1F2933";
const QUIET: &str = "5B6875";
const ACCENT: &str = "1F4E79";
const RULE: &str = "D5DBE1";
const TINT: &str = "F3F6F9";
const TITLE: usize = 44;
const BODY: usize = 20;
const SMALL: usize = 17;

/// A word's colour and the tint behind it. The word itself says the same: colour is never alone.
const fn colours(severity: Severity) -> (&'static str, &'static str) {
    match severity {
        Severity::Critical => ("9B1C1C", "FBE9E9"),
        Severity::Warning => ("8A5300", "FDF3E1"),
        Severity::Note => ("1F4E79", "E8F0F8"),
    }
}

/// An empty document with its styles and its foot.
pub(super) fn blank(foot: &str) -> Docx {
    let fonts = RunFonts::new().ascii("Arial").hi_ansi("Arial").cs("Arial").east_asia("Arial");
    let mono = RunFonts::new().ascii("Courier New").hi_ansi("Courier New").cs("Courier New");
    let style = |id: &str, name: &str| Style::new(id, StyleType::Paragraph).name(name);
    let heading = |level: usize, size, before| {
        style(&format!("Heading{level}"), &format!("heading {level}"))
            .based_on("Normal")
            .next("Normal")
            .q_format(true)
            .outline_lvl(level - 1)
            .bold()
            .color(ACCENT)
            .size(size)
            .line_spacing(LineSpacing::new().before(before).after(90))
    };
    Docx::new()
        .page_size(PAGE.0, PAGE.1)
        .page_margin(PageMargin {
            top: MARGIN,
            left: MARGIN,
            bottom: MARGIN,
            right: MARGIN,
            header: 567,
            footer: 567,
            gutter: 0,
        })
        .default_fonts(fonts)
        .default_size(BODY)
        .add_style(
            style("Title", "Title")
                .based_on("Normal")
                .next("Normal")
                .q_format(true)
                .bold()
                .color(ACCENT)
                .size(TITLE)
                .line_spacing(LineSpacing::new().after(40)),
        )
        .add_style(
            style("Subtitle", "Subtitle")
                .based_on("Normal")
                .q_format(true)
                .color(QUIET)
                .line_spacing(LineSpacing::new().after(200)),
        )
        .add_style(style("Footer", "footer").based_on("Normal").color(QUIET).size(SMALL))
        .add_style(heading(1, 28, 320))
        .add_style(heading(2, 23, 220))
        .add_style(Style::new("Code", StyleType::Character).name("Code").fonts(mono).size(SMALL))
        .footer(footer(foot))
}

fn footer(text: &str) -> Footer {
    Footer::new().add_paragraph(
        Paragraph::new()
            .style("Footer")
            .add_tab(Tab::new().val(TabValueType::Right).pos(WIDTH))
            .add_run(Run::new().add_text(text).add_tab().add_text("Page "))
            .add_page_num(PageNum::new())
            .add_run(Run::new().add_text(" of "))
            .add_num_pages(NumPages::new()),
    )
}

/// A paragraph in one of the document's styles.
pub(super) fn styled(style: &str, text: &str) -> Paragraph {
    Paragraph::new().style(style).add_run(Run::new().add_text(text)).keep_next(style.starts_with("Heading"))
}

/// A paragraph of the body.
pub(super) fn body(text: &str) -> Paragraph {
    plain().add_run(Run::new().add_text(text).color(INK))
}

/// A paragraph that explains, smaller.
pub(super) fn aside(text: &str) -> Paragraph {
    Paragraph::new()
        .line_spacing(LineSpacing::new().before(90).after(0))
        .add_run(Run::new().add_text(text).size(SMALL).color(QUIET))
}

fn plain() -> Paragraph {
    Paragraph::new().line_spacing(LineSpacing::new().after(0).line(264).line_rule(LineSpacingType::Auto))
}

/// The box at the top: a label and a text, again and again.
pub(super) fn summary(severity: Severity, parts: &[(&str, &str)]) -> Table {
    let (colour, tint) = colours(severity);
    let mut cell = TableCell::new()
        .width(WIDTH, WidthType::Dxa)
        .shading(Shading::new().fill(tint))
        .set_border(edge(TableCellBorderPosition::Left, 36, colour));
    for position in
        [TableCellBorderPosition::Top, TableCellBorderPosition::Right, TableCellBorderPosition::Bottom]
    {
        cell = cell.clear_border(position);
    }
    for (at, (label, text)) in parts.iter().enumerate() {
        let before = if at == 0 { 0 } else { 140 };
        cell = cell
            .add_paragraph(
                Paragraph::new()
                    .keep_next(true)
                    .line_spacing(LineSpacing::new().before(before).after(20))
                    .add_run(Run::new().add_text(*label).bold().size(SMALL).color(colour)),
            )
            .add_paragraph(
                Paragraph::new()
                    .line_spacing(LineSpacing::new().after(0).line(276))
                    .add_run(Run::new().add_text(*text).size(23).color(INK)),
            );
    }
    Table::without_borders(vec![TableRow::new(vec![cell]).cant_split()])
        .set_grid(vec![WIDTH])
        .width(WIDTH, WidthType::Dxa)
        .layout(TableLayoutType::Fixed)
        .margins(TableCellMargins::new().margin(150, 200, 150, 200))
}

fn edge(position: TableCellBorderPosition, size: usize, colour: &str) -> TableCellBorder {
    TableCellBorder::new(position).border_type(BorderType::Single).size(size).color(colour)
}

/// What stands in a cell.
#[derive(Debug, Clone)]
pub(super) enum Cell {
    /// Words.
    Text(String),
    /// Words that lead.
    Strong(String),
    /// Something that is compared letter by letter.
    Exact(String),
    /// How bad it is, by word and by colour.
    Severity(Severity),
}

impl Cell {
    fn draw(&self, width: usize, keep: bool) -> TableCell {
        let cell = TableCell::new().width(width, WidthType::Dxa);
        let plain = || plain().keep_next(keep);
        let run = |text: &str| Run::new().add_text(text).color(INK);
        match self {
            Self::Text(text) => cell.add_paragraph(plain().add_run(run(text))),
            Self::Strong(text) => cell.add_paragraph(plain().add_run(run(text).bold())),
            Self::Exact(text) => cell.add_paragraph(plain().add_run(run(text).style("Code"))),
            Self::Severity(severity) => {
                let (colour, tint) = colours(*severity);
                cell.shading(Shading::new().fill(tint))
                    .vertical_align(VAlignType::Top)
                    .add_paragraph(plain().add_run(Run::new().add_text(severity.word()).bold().color(colour)))
            }
        }
    }
}

/// A table with a head.
pub(super) fn table(widths: &[usize], head: &[&str], rows: &[Vec<Cell>]) -> Table {
    let top = widths.iter().zip(head).map(|(width, text)| {
        TableCell::new().width(*width, WidthType::Dxa).shading(Shading::new().fill(ACCENT)).add_paragraph(
            plain()
                .keep_next(true)
                .add_run(Run::new().add_text(*text).bold().size(SMALL + 1).color("FFFFFF")),
        )
    });
    let mut all = vec![TableRow::new(top.collect()).cant_split()];
    let kept = kept(rows.len());
    all.extend(rows.iter().enumerate().map(|(at, row)| drawn(widths, row, at < kept)));
    framed(widths, all)
}

/// Names and their values.
pub(super) fn pairs(rows: &[(&str, Cell)]) -> Table {
    const WIDTHS: [usize; 2] = [2_500, WIDTH - 2_500];
    let kept = kept(rows.len());
    let row = |(at, (name, value)): (usize, &(&str, Cell))| {
        let name = Cell::Strong((*name).to_owned()).draw(WIDTHS[0], at < kept);
        let name = name.shading(Shading::new().fill(TINT));
        TableRow::new(vec![name, value.draw(WIDTHS[1], at < kept)]).cant_split()
    };
    framed(&WIDTHS, rows.iter().enumerate().map(row).collect())
}

fn drawn(widths: &[usize], row: &[Cell], keep: bool) -> TableRow {
    TableRow::new(widths.iter().zip(row).map(|(width, cell)| cell.draw(*width, keep)).collect()).cant_split()
}

/// So many rows stay on the page of the next one: all of a short table, the first of a long one.
const fn kept(rows: usize) -> usize {
    if rows <= 8 { rows.saturating_sub(1) } else { 1 }
}

fn framed(widths: &[usize], rows: Vec<TableRow>) -> Table {
    let line = |position| TableBorder::new(position).border_type(BorderType::Single).size(4).color(RULE);
    let borders = TableBorders::with_empty()
        .set(line(TableBorderPosition::Top))
        .set(line(TableBorderPosition::Bottom))
        .set(line(TableBorderPosition::InsideH));
    Table::new(rows)
        .set_borders(borders)
        .set_grid(widths.to_vec())
        .width(widths.iter().sum(), WidthType::Dxa)
        .layout(TableLayoutType::Fixed)
        .margins(TableCellMargins::new().margin(70, 110, 70, 110))
}
