//! A file's properties, without reading its text.

use super::limits::Limits;
use super::open::{Opened, open};
use super::read::version;
use super::refusal::Refusal;
use super::text::decode;
use hayro_syntax::object::{Array, Dict, Name, Object, ObjectIdentifier};
use memchr::memmem;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A file's properties.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Properties {
    /// The version that the file says it has.
    pub version: String,
    /// Its size.
    pub bytes: u64,
    /// How many pages it has.
    pub pages: u32,
    /// Every font that a page's resources name.
    pub fonts: Vec<FontProperties>,
    /// Pictures that the resources of pages name, each counted once.
    pub images: u32,
    /// Encrypted, though with an empty password.
    pub encrypted: bool,
    /// Was damaged.
    pub repaired: bool,
    /// Has scripts.
    pub javascript: bool,
    /// Has files inside.
    pub attachments: bool,
    /// Has form fields.
    pub forms: bool,
    /// Has a structure tree.
    pub tagged: bool,
    /// The title of its own description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The program that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub producer: Option<String>,
}

/// A font of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FontProperties {
    /// As the file names it, a subset's prefix included.
    pub name: String,
    /// Such as `Type1`, `TrueType`, `Type0`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its program is inside of the file.
    pub embedded: bool,
}

/// Forms inside of forms are followed so deep.
const DEEPEST: usize = 8;

/// Finds a file's properties.
///
/// # Errors
///
/// A [`Refusal`] when the file cannot be opened.
pub fn inspect(bytes: Vec<u8>, limits: &Limits) -> Result<Properties, Refusal> {
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let encrypted = memmem::find(&bytes, b"/Encrypt").is_some();
    let Opened { pdf, repaired } = open(bytes, limits)?;
    let catalog: Dict<'_> = pdf.xref().get(pdf.xref().root_id()).unwrap_or_default();
    let names: Dict<'_> = catalog.get("Names").unwrap_or_default();
    let mut found = Found::default();
    for page in pdf.pages().iter() {
        let resources = page.resources();
        found.resources(&resources.fonts, &resources.x_objects, DEEPEST);
        found.annotations(page.raw());
    }
    let fields = catalog.get::<Dict<'_>>("AcroForm").and_then(|form| form.get::<Array<'_>>("Fields"));
    let opening = catalog.get::<Dict<'_>>("OpenAction");
    let script = |action: Dict<'_>| action.get::<Name<'_>>("S").as_deref() == Some(b"JavaScript");
    let text = |bytes: Option<&[u8]>| {
        let text: String = decode(bytes?).chars().filter(|c| !c.is_control()).collect();
        (!text.is_empty()).then_some(text)
    };
    Ok(Properties {
        version: version(pdf.version()).to_owned(),
        bytes: size,
        pages: u32::try_from(pdf.pages().len()).unwrap_or(u32::MAX),
        fonts: found.fonts.into_iter().collect(),
        images: u32::try_from(found.images.len()).unwrap_or(u32::MAX),
        encrypted,
        repaired,
        javascript: found.javascript || names.contains_key("JavaScript") || opening.is_some_and(script),
        attachments: found.attachments || names.contains_key("EmbeddedFiles") || catalog.contains_key("AF"),
        forms: fields.is_some_and(|fields| fields.raw_iter().next().is_some()),
        tagged: catalog.contains_key("StructTreeRoot"),
        title: text(pdf.metadata().title.as_deref()),
        producer: text(pdf.metadata().producer.as_deref()),
    })
}

#[derive(Default)]
struct Found {
    fonts: BTreeSet<FontProperties>,
    seen: BTreeSet<ObjectIdentifier>,
    images: BTreeSet<ObjectIdentifier>,
    javascript: bool,
    attachments: bool,
}

impl Found {
    fn resources(&mut self, fonts: &Dict<'_>, objects: &Dict<'_>, depth: usize) {
        for name in fonts.keys() {
            if let Some(id) = fonts.get_ref(&*name)
                && !self.seen.insert(id.into())
            {
                continue;
            }
            if let Some(font) = fonts.get::<Dict<'_>>(&*name) {
                self.fonts.insert(font_properties(&font));
            }
        }
        for name in objects.keys() {
            let Some(id) = objects.get_ref(&*name).map(ObjectIdentifier::from) else { continue };
            if !self.seen.insert(id) {
                continue;
            }
            let Some(Object::Stream(object)) = objects.get::<Object<'_>>(&*name) else { continue };
            match object.dict().get::<Name<'_>>("Subtype").as_deref() {
                Some(b"Image") => {
                    self.images.insert(id);
                }
                Some(b"Form") if depth > 0 => {
                    let inner: Dict<'_> = object.dict().get("Resources").unwrap_or_default();
                    let fonts: Dict<'_> = inner.get("Font").unwrap_or_default();
                    let objects: Dict<'_> = inner.get("XObject").unwrap_or_default();
                    self.resources(&fonts, &objects, depth - 1);
                }
                _ => {}
            }
        }
    }

    fn annotations(&mut self, page: &Dict<'_>) {
        let Some(annotations) = page.get::<Array<'_>>("Annots") else { return };
        for annotation in annotations.iter::<Dict<'_>>() {
            let subtype = annotation.get::<Name<'_>>("Subtype");
            self.attachments |= subtype.as_deref() == Some(b"FileAttachment");
            let action = annotation.get::<Dict<'_>>("A");
            let script = action.and_then(|action| action.get::<Name<'_>>("S"));
            self.javascript |= script.as_deref() == Some(b"JavaScript");
        }
    }
}

fn font_properties(font: &Dict<'_>) -> FontProperties {
    let name = |dict: &Dict<'_>, key: &str| {
        dict.get::<Name<'_>>(key).map(|name| String::from_utf8_lossy(&name).into_owned())
    };
    let kind = name(font, "Subtype").unwrap_or_default();
    let inner = font.get::<Array<'_>>("DescendantFonts").and_then(|fonts| fonts.iter::<Dict<'_>>().next());
    let holder = inner.as_ref().unwrap_or(font);
    let descriptor: Dict<'_> = holder.get("FontDescriptor").unwrap_or_default();
    let embedded = ["FontFile", "FontFile2", "FontFile3"].iter().any(|key| descriptor.contains_key(key));
    FontProperties {
        name: name(font, "BaseFont").unwrap_or_default(),
        // The glyphs of a Type 3 font are in its own dictionary.
        embedded: embedded || kind == "Type3",
        kind,
    }
}
