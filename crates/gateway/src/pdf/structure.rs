//! The structure tree: what the file itself says about headings, paragraphs, lists, tables and figures.
//!
//! The tree is walked once, in its own order, which is the reading order. What remains is, for each page, a list of blocks
//! and which marked content belongs to which of them.

use super::content::Mcid;
use super::text::decode;
use crate::page::Role;
use hayro_syntax::object::{Array, Dict, MaybeRef, Name, Object, ObjectIdentifier, String as Bytes};
use hayro_syntax::xref::XRef;
use std::collections::{BTreeMap, BTreeSet};

/// Elements beyond this number are not looked at.
const MOST_ELEMENTS: usize = 2_000_000;

/// What the tree says about one page.
#[derive(Debug, Default)]
pub(crate) struct PageTags {
    /// In reading order.
    pub(crate) blocks: Vec<TagBlock>,
    /// Which block a number of marked content belongs to.
    pub(crate) of: BTreeMap<Mcid, usize>,
}

/// One block of a page.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TagBlock {
    pub(crate) role: Role,
    /// Says what a figure shows.
    pub(crate) alternative: Option<String>,
    /// Where a figure is, in the file's own coordinates.
    pub(crate) place: Option<[f64; 4]>,
    /// Text that stands in a container and not in a paragraph: only its order is known.
    pub(crate) loose: bool,
    /// Which element of the tree it comes from.
    element: usize,
}

/// The tags of all pages.
pub(crate) type Tags = BTreeMap<ObjectIdentifier, PageTags>;

/// Walks the structure tree, if there is one.
pub(crate) fn read(catalog: &Dict<'_>, xref: &XRef, nesting: usize) -> Tags {
    let Some(root) = catalog.get::<Dict<'_>>("StructTreeRoot") else { return Tags::new() };
    let mut walker = Walker {
        roles: root.get("RoleMap").unwrap_or_default(),
        xref,
        tags: Tags::new(),
        seen: BTreeSet::new(),
        elements: 0,
        tables: 0,
        nesting,
    };
    walker.kids(&root, &Place { page: None, block: None, table: None, depth: 0 });
    walker.tags
}

struct Walker<'a> {
    roles: Dict<'a>,
    xref: &'a XRef,
    tags: Tags,
    seen: BTreeSet<ObjectIdentifier>,
    elements: usize,
    tables: u16,
    nesting: usize,
}

/// Where the walk is.
#[derive(Clone)]
struct Place {
    page: Option<ObjectIdentifier>,
    block: Option<Wanted>,
    table: Option<Cell>,
    depth: usize,
}

/// The block that content found now belongs to.
#[derive(Clone)]
struct Wanted {
    element: usize,
    role: Role,
    loose: bool,
}

/// The next cell of the innermost table.
#[derive(Clone, Copy)]
struct Cell {
    table: u16,
    row: u16,
    column: u16,
}

impl<'a> Walker<'a> {
    fn kids(&mut self, element: &Dict<'a>, place: &Place) {
        if place.depth >= self.nesting {
            return;
        }
        let mut cell = place.table;
        let mut visit = |walker: &mut Self, kid: Object<'a>, id: Option<ObjectIdentifier>| {
            let here = Place { table: cell, ..place.clone() };
            cell = walker.kid(kid, id, &here);
        };
        match element.get::<Object<'a>>("K") {
            Some(Object::Array(kids)) => {
                for kid in kids.raw_iter() {
                    match kid {
                        MaybeRef::Ref(id) => {
                            let id = ObjectIdentifier::from(id);
                            if let Some(kid) = self.xref.get::<Object<'a>>(id) {
                                visit(self, kid, Some(id));
                            }
                        }
                        MaybeRef::NotRef(kid) => visit(self, kid, None),
                    }
                }
            }
            Some(kid) => visit(self, kid, element.get_ref("K").map(ObjectIdentifier::from)),
            None => {}
        }
    }

    /// Visits one kid and answers which cell comes next.
    fn kid(&mut self, kid: Object<'a>, id: Option<ObjectIdentifier>, place: &Place) -> Option<Cell> {
        match kid {
            Object::Number(number) => {
                if let Ok(number) = u32::try_from(number.as_i64()) {
                    self.content(Mcid { stream: 0, number }, place.page, place);
                }
                place.table
            }
            Object::Dict(dict) => {
                if let Some(number) = dict.get::<u32>("MCID") {
                    let page = dict.get_ref("Pg").map(ObjectIdentifier::from).or(place.page);
                    let stream = dict.get_ref("Stm").map_or(0, |id| ObjectIdentifier::from(id).obj_number);
                    self.content(Mcid { stream, number }, page, place);
                    return place.table;
                }
                if let Some(element) = dict.get::<Dict<'a>>("Obj").filter(|element| element.contains_key("S"))
                {
                    // A reference to an object, and the object is an element.
                    let id = dict.get_ref("Obj").map(ObjectIdentifier::from);
                    return self.kid(Object::Dict(element), id, place);
                }
                if !dict.contains_key("S") || id.is_some_and(|id| !self.seen.insert(id)) {
                    return place.table;
                }
                self.element(&dict, place)
            }
            _ => place.table,
        }
    }

    fn element(&mut self, element: &Dict<'a>, place: &Place) -> Option<Cell> {
        self.elements += 1;
        if self.elements > MOST_ELEMENTS {
            return place.table;
        }
        let number = self.elements;
        let kind = self.kind(element);
        let page = element.get_ref("Pg").map(ObjectIdentifier::from).or(place.page);
        let mut here = Place { page, depth: place.depth + 1, ..place.clone() };
        let mut next = place.table;
        match kind.as_slice() {
            b"Table" => {
                here.table = Some(Cell { table: self.tables, row: 0, column: 0 });
                here.block = None;
                self.tables = self.tables.saturating_add(1);
            }
            b"TR" => {
                if let Some(cell) = &mut next {
                    here.table = Some(Cell { column: 0, ..*cell });
                    cell.row = cell.row.saturating_add(1);
                }
            }
            // Rows count through the parts of a table.
            b"THead" | b"TBody" | b"TFoot" => {
                let rows = self.rows(element);
                if let Some(cell) = &mut next {
                    cell.row = cell.row.saturating_add(rows);
                }
            }
            b"TD" | b"TH" => {
                if let Some(cell) = &mut next {
                    let role = Role::Cell { table: cell.table, row: cell.row, column: cell.column };
                    here.block = Some(Wanted { element: number, role, loose: false });
                    let wide = span(element);
                    cell.column = cell.column.saturating_add(wide);
                    here.table = None;
                }
            }
            b"Figure" => {
                self.figure(element, number, page);
                here.block = Some(Wanted { element: number, role: Role::Paragraph, loose: true });
            }
            other => here.block = block(other, number, place.block.as_ref()),
        }
        self.kids(element, &here);
        next
    }

    /// The standard name of an element, after the file's own names are translated.
    fn kind(&self, element: &Dict<'a>) -> Vec<u8> {
        let mut kind = element.get::<Name<'_>>("S").map(|name| name.to_vec()).unwrap_or_default();
        for _ in 0..8 {
            if is_standard(&kind) {
                break;
            }
            match self.roles.get::<Name<'_>>(&kind) {
                Some(other) if other.as_ref() != kind => kind = other.to_vec(),
                _ => break,
            }
        }
        kind
    }

    fn rows(&self, part: &Dict<'a>) -> u16 {
        let rows = part.get::<Array<'_>>("K").map_or(1, |kids| kids.raw_iter().count());
        u16::try_from(rows).unwrap_or(u16::MAX)
    }

    fn figure(&mut self, element: &Dict<'a>, number: usize, page: Option<ObjectIdentifier>) {
        let alternative = element.get::<Bytes<'_>>("Alt").map(|text| decode(&text));
        let Some(alternative) = alternative.filter(|text| !text.trim().is_empty()) else { return };
        let Some(page) = page else { return };
        let attributes = match element.get::<Object<'_>>("A") {
            Some(Object::Dict(dict)) => Some(dict),
            Some(Object::Array(array)) => array
                .iter::<Object<'_>>()
                .filter_map(Object::into_dict)
                .find(|dict| dict.contains_key("BBox")),
            _ => None,
        };
        let place = attributes.and_then(|dict| dict.get::<[f64; 4]>("BBox"));
        let block = TagBlock {
            role: Role::Figure,
            alternative: Some(alternative),
            place,
            loose: false,
            element: number,
        };
        self.tags.entry(page).or_default().blocks.push(block);
    }

    fn content(&mut self, mcid: Mcid, page: Option<ObjectIdentifier>, place: &Place) {
        let Some(page) = page else { return };
        let wanted = place.block.clone().unwrap_or(Wanted { element: 0, role: Role::Paragraph, loose: true });
        let tags = self.tags.entry(page).or_default();
        let known = tags.blocks.iter().rposition(|b| b.element == wanted.element && b.role == wanted.role);
        let at = known.unwrap_or_else(|| {
            let Wanted { element, role, loose } = wanted;
            let block = TagBlock { role, alternative: None, place: None, loose, element };
            tags.blocks.push(block);
            tags.blocks.len() - 1
        });
        tags.of.entry(mcid).or_insert(at);
    }
}

/// The block that an element makes, or the one that it stands in.
fn block(kind: &[u8], element: usize, outer: Option<&Wanted>) -> Option<Wanted> {
    let own = |role: Role| Some(Wanted { element, role, loose: false });
    // What stands inside of an item, a cell, a caption or a note belongs to it.
    let kept = outer.filter(|outer| {
        matches!(outer.role, Role::ListItem | Role::Cell { .. } | Role::Caption | Role::Note)
    });
    match kind {
        b"P" | b"Formula" | b"Code" | b"BlockQuote" | b"Quote" if kept.is_none() => own(Role::Paragraph),
        b"H" | b"H1" | b"Title" => own(Role::Heading(1)),
        b"H2" => own(Role::Heading(2)),
        b"H3" => own(Role::Heading(3)),
        b"H4" => own(Role::Heading(4)),
        b"H5" => own(Role::Heading(5)),
        b"H6" => own(Role::Heading(6)),
        b"LI" | b"TOCI" => own(Role::ListItem),
        b"Caption" => own(Role::Caption),
        b"Note" | b"FENote" => own(Role::Note),
        b"Document" | b"Part" | b"Art" | b"Sect" | b"Div" | b"L" | b"TOC" | b"Index" if kept.is_none() => {
            Some(Wanted { element, role: Role::Paragraph, loose: true })
        }
        _ => outer.cloned(),
    }
}

fn is_standard(kind: &[u8]) -> bool {
    const KINDS: [&[u8]; 42] = [
        b"Document",
        b"Part",
        b"Art",
        b"Sect",
        b"Div",
        b"BlockQuote",
        b"Caption",
        b"TOC",
        b"TOCI",
        b"Index",
        b"NonStruct",
        b"Private",
        b"P",
        b"H",
        b"H1",
        b"H2",
        b"H3",
        b"H4",
        b"H5",
        b"H6",
        b"L",
        b"LI",
        b"Lbl",
        b"LBody",
        b"Table",
        b"TR",
        b"TH",
        b"TD",
        b"THead",
        b"TBody",
        b"TFoot",
        b"Span",
        b"Quote",
        b"Note",
        b"Reference",
        b"BibEntry",
        b"Code",
        b"Link",
        b"Annot",
        b"Figure",
        b"Formula",
        b"Form",
    ];
    KINDS.contains(&kind)
}

/// How many columns a cell takes.
fn span(element: &Dict<'_>) -> u16 {
    let of = |dict: Dict<'_>| dict.get::<u16>("ColSpan");
    let said = match element.get::<Object<'_>>("A") {
        Some(Object::Dict(dict)) => of(dict),
        Some(Object::Array(array)) => array.iter::<Object<'_>>().filter_map(Object::into_dict).find_map(of),
        _ => None,
    };
    said.unwrap_or(1).max(1)
}
