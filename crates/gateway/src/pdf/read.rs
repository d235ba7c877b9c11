//! Reads a file, page by page, into the page model.

use super::content::{Drawn, Runner};
use super::field::Fields;
use super::font::Shelf;
use super::labels::Labels;
use super::layers::Layers;
use super::limits::Budget;
use super::matrix::Matrix;
use super::open::{Opened, open};
use super::refusal::Refusal;
use super::structure::{self, Tags};
use super::text::decode;
use super::unpack::unpack;
use super::{Ask, annotation};
use crate::layout;
use crate::page::{Block, Document, Page, Role, Warnings};
use hayro_syntax::object::{Dict, Object, Stream, String as Bytes};
use hayro_syntax::page::Rotation;
use hayro_syntax::{Pdf, PdfVersion};

/// Reads a file. The same bytes and the same wish always give the same document.
///
/// # Errors
///
/// A [`Refusal`] when the file cannot be read at all, or not within the limits. A page that cannot be read is no error: it is
/// given as an empty one, and [`Warnings`] count it.
pub fn read(bytes: Vec<u8>, ask: &Ask) -> Result<Document, Refusal> {
    let Opened { pdf, repaired } = open(bytes, &ask.limits)?;
    let budget = Budget::new(ask.limits);
    let catalog: Dict<'_> = pdf.xref().get(pdf.xref().root_id()).unwrap_or_default();
    let mut document = Document {
        version: Some(version(pdf.version()).to_owned()),
        title: said(pdf.metadata().title.as_deref()),
        author: said(pdf.metadata().author.as_deref()),
        language: catalog.get::<Bytes<'_>>("Lang").map(|text| decode(&text)).and_then(|text| language(&text)),
        page_count: u32::try_from(pdf.pages().len()).unwrap_or(u32::MAX),
        warnings: Warnings { repaired, ..Warnings::default() },
        ..Document::default()
    };
    let mut reader = Reader {
        budget: &budget,
        shelf: Shelf::default(),
        layers: Layers::of(&catalog),
        fields: Fields::of(&catalog),
        labels: Labels::of(&catalog, ask.limits.nesting),
        tags: structure::read(&catalog, pdf.xref(), ask.limits.nesting),
        drawn: Drawn::default(),
        unreadable: 0,
    };
    reader.pages(&pdf, ask, &mut document)?;
    document.warnings.unmapped_glyphs = reader.drawn.unmapped;
    document.warnings.replaced_characters = reader.drawn.replaced;
    document.warnings.unreadable_pages = reader.unreadable;
    document.warnings.no_text_layer =
        document.pages.iter().all(|page| page.blocks.iter().all(|block| block.role == Role::Figure));
    number_fonts(&mut document, reader.shelf.faces());
    layout::guess(&mut document);
    Ok(document)
}

struct Reader<'r, 'a> {
    budget: &'r Budget,
    fields: Fields<'a>,
    shelf: Shelf,
    layers: Layers,
    labels: Labels,
    tags: Tags,
    drawn: Drawn,
    unreadable: u32,
}

impl<'a> Reader<'_, 'a> {
    fn pages(&mut self, pdf: &'a Pdf, ask: &Ask, document: &mut Document) -> Result<(), Refusal> {
        for (number, page) in (1_u32..).zip(pdf.pages().iter()) {
            if ask.pages.as_ref().is_none_or(|range| range.contains(&number)) {
                document.pages.push(self.page(page, number)?);
            }
        }
        Ok(())
    }

    fn page(&mut self, page: &hayro_syntax::page::Page<'a>, number: u32) -> Result<Page, Refusal> {
        self.drawn.clear();
        self.budget.page();
        let (matrix, width, height) = view(page);
        let mut runner = Runner::new(&mut self.shelf, self.budget, &self.layers, &mut self.drawn);
        let resources = page.raw().get::<Dict<'_>>("Resources");
        match content(page.raw(), self.budget)? {
            Content::Some(content) => {
                let inherited = || inherited(page.raw(), "Resources");
                let resources = resources.or_else(inherited).unwrap_or_default();
                runner.page(&content, &resources, matrix)?;
            }
            Content::None => {}
            Content::Broken => self.unreadable += 1,
        }
        annotation::draw(&mut runner, page.raw(), matrix, &self.fields)?;
        let tags = page.raw().obj_id().and_then(|id| self.tags.get(&id));
        let label = self.labels.get(number.saturating_sub(1));
        let blank = Page { number, label, width, height, ..Page::default() };
        let mut page = layout::page(&mut self.drawn, tags, blank);
        for block in page.blocks.iter_mut().filter(|block| block.role == Role::Figure) {
            place_figure(block, matrix);
        }
        Ok(page)
    }
}

/// What a page's content turned out to be.
enum Content {
    Some(Vec<u8>),
    /// The page has none.
    None,
    /// There is some, but none of it can be unpacked.
    Broken,
}

fn content(page: &Dict<'_>, budget: &Budget) -> Result<Content, Refusal> {
    match page.get::<Object<'_>>("Contents") {
        Some(Object::Stream(stream)) => Ok(match unpack(&stream, budget)? {
            Some(data) => Content::Some(data.into_owned()),
            None => Content::Broken,
        }),
        Some(Object::Array(parts)) => {
            let mut all = Vec::new();
            let (mut found, mut broken) = (false, false);
            for part in parts.iter::<Stream<'_>>() {
                match unpack(&part, budget)? {
                    Some(data) => {
                        found = true;
                        all.extend_from_slice(&data);
                        // A token never goes on in the next stream.
                        all.push(b'\n');
                    }
                    None => broken = true,
                }
            }
            Ok(if broken && !found { Content::Broken } else { Content::Some(all) })
        }
        _ => Ok(Content::None),
    }
}

/// An entry that a page has from one of its parents.
fn inherited<'a>(page: &Dict<'a>, key: &str) -> Option<Dict<'a>> {
    let mut node = page.get::<Dict<'a>>("Parent")?;
    for _ in 0..64 {
        if let Some(found) = node.get::<Dict<'a>>(key) {
            return Some(found);
        }
        node = node.get::<Dict<'a>>("Parent")?;
    }
    None
}

/// From the file's coordinates to points from the upper left corner of the page as seen, and the page's size.
fn view(page: &hayro_syntax::page::Page<'_>) -> (Matrix, f32, f32) {
    let mut seen = page.intersected_crop_box();
    let (width, height) = (seen.x1 - seen.x0, seen.y1 - seen.y0);
    if !(width > 0.01 && height > 0.01 && width < 1e7 && height < 1e7) {
        seen = hayro_syntax::page::A4;
    }
    let (x0, y0, x1, y1) = (seen.x0, seen.y0, seen.x1, seen.y1);
    let (width, height) = ((x1 - x0) as f32, (y1 - y0) as f32);
    match page.rotation() {
        Rotation::None => (Matrix::new([1.0, 0.0, 0.0, -1.0, -x0, y1]), width, height),
        Rotation::Horizontal => (Matrix::new([0.0, 1.0, 1.0, 0.0, -y0, -x0]), height, width),
        Rotation::Flipped => (Matrix::new([-1.0, 0.0, 0.0, 1.0, x1, -y0]), width, height),
        Rotation::FlippedHorizontal => (Matrix::new([0.0, -1.0, -1.0, 0.0, y1, x1]), height, width),
    }
}

/// A figure's place is said in the file's coordinates.
fn place_figure(block: &mut Block, matrix: Matrix) {
    let corner = |x: f32, y: f32| matrix.apply(f64::from(x), f64::from(y));
    let ((ax, ay), (bx, by)) =
        (corner(block.bounds.x0, block.bounds.y0), corner(block.bounds.x1, block.bounds.y1));
    let bounds = crate::page::Rect {
        x0: ax.min(bx) as f32,
        y0: ay.min(by) as f32,
        x1: ax.max(bx) as f32,
        y1: ay.max(by) as f32,
    };
    block.bounds = bounds;
    for line in &mut block.lines {
        (line.bounds, line.baseline) = (bounds, bounds.y1);
        for word in &mut line.words {
            word.bounds = bounds;
        }
    }
}

/// Numbers fonts anew, in the order in which words use them.
fn number_fonts(document: &mut Document, faces: &[crate::page::Font]) {
    let mut numbers: Vec<Option<u16>> = vec![None; faces.len()];
    let words =
        document.pages.iter_mut().flat_map(|page| &mut page.blocks).flat_map(|block| &mut block.lines);
    for word in words.flat_map(|line| &mut line.words) {
        let Some(number) = numbers.get_mut(usize::from(word.font)) else { continue };
        word.font = *number.get_or_insert_with(|| {
            document.fonts.extend(faces.get(usize::from(word.font)).cloned());
            u16::try_from(document.fonts.len().saturating_sub(1)).unwrap_or(u16::MAX)
        });
    }
}

fn said(bytes: Option<&[u8]>) -> Option<String> {
    let text: String =
        decode(bytes?).chars().filter(|c| !c.is_control() && !matches!(c, '\u{FFFE}' | '\u{FFFF}')).collect();
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// A language tag, if it is formed like one.
fn language(text: &str) -> Option<String> {
    let text = text.trim();
    let mut parts = text.split('-');
    let first = parts.next()?;
    let head = (2..=8).contains(&first.len()) && first.bytes().all(|b| b.is_ascii_alphabetic());
    let tail =
        parts.all(|part| (1..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric()));
    (head && tail).then(|| text.to_owned())
}

pub(super) fn version(version: PdfVersion) -> &'static str {
    match version {
        PdfVersion::Pdf10 => "1.0",
        PdfVersion::Pdf11 => "1.1",
        PdfVersion::Pdf12 => "1.2",
        PdfVersion::Pdf13 => "1.3",
        PdfVersion::Pdf14 => "1.4",
        PdfVersion::Pdf15 => "1.5",
        PdfVersion::Pdf16 => "1.6",
        PdfVersion::Pdf17 => "1.7",
        PdfVersion::Pdf20 => "2.0",
    }
}

#[cfg(test)]
mod tests {
    use super::language;

    #[test]
    fn only_what_is_formed_like_a_language_is_one() {
        assert_eq!(language("de-CH-1901").as_deref(), Some("de-CH-1901"));
        assert_eq!(language(" en ").as_deref(), Some("en"));
        for no in ["", "English language", "e", "en_US", "en-", "de-toolongpart"] {
            assert_eq!(language(no), None, "{no}");
        }
    }
}
