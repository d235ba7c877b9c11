//! Form fields that come without an appearance, or whose appearances the file calls stale: their values are shown instead.

use super::text::decode;
use hayro_syntax::object::{Dict, Object, String as Bytes};

const MULTILINE: u32 = 1 << 12;
const PUSH: u32 = 1 << 16;
const PASSWORD: u32 = 1 << 13;
/// Fields inherit from their parents; chains longer than this are broken.
const LONGEST: usize = 32;

/// What all fields of a file share.
pub(crate) struct Fields<'a> {
    stale: bool,
    resources: Dict<'a>,
    style: Option<Vec<u8>>,
}

impl<'a> Fields<'a> {
    pub(crate) fn of(catalog: &Dict<'a>) -> Self {
        let form: Dict<'a> = catalog.get("AcroForm").unwrap_or_default();
        Self {
            stale: form.get("NeedAppearances").unwrap_or(false),
            resources: form.get("DR").unwrap_or_default(),
            style: form.get::<Bytes<'_>>("DA").map(|style| style.to_vec()),
        }
    }

    /// Whether the appearances in the file must not be used.
    pub(crate) fn are_stale(&self) -> bool {
        self.stale
    }

    /// Content that shows a field's value in its rectangle, and the resources that it needs.
    pub(crate) fn appearance(&self, widget: &Dict<'a>, rectangle: [f64; 4]) -> Option<(Vec<u8>, Dict<'a>)> {
        let flags: u32 = inherited(widget, "Ff").and_then(number).unwrap_or(0);
        let kind = inherited(widget, "FT").and_then(Object::into_name)?;
        let value = match kind.as_ref() {
            b"Tx" | b"Ch" if flags & PASSWORD == 0 => {
                inherited(widget, "V").and_then(Object::into_string)?.to_vec()
            }
            b"Btn" if flags & PUSH != 0 => widget.get::<Dict<'_>>("MK")?.get::<Bytes<'_>>("CA")?.to_vec(),
            _ => return None,
        };
        let style = inherited(widget, "DA").and_then(Object::into_string).map(|style| style.to_vec());
        let style = style.or_else(|| self.style.clone())?;
        let [x0, y0, x1, y1] = rectangle;
        let (left, low, height) = (x0.min(x1), y0.min(y1), (y1 - y0).abs());
        let size = match size_of(&style)? {
            size if size > 0.0 => size,
            _ => (height * 0.7).clamp(4.0, 12.0),
        };
        let multiline = flags & MULTILINE != 0;
        let mut base =
            if multiline { low + height - 2.0 - size } else { low + (height - size) / 2.0 + size * 0.1 };
        let mut content = style_with(&style, size);
        for line in decode(&value).split(['\r', '\n']).filter(|line| !line.is_empty()).take(1000) {
            content.extend_from_slice(format!(" 1 0 0 1 {} {} Tm <", left + 2.0, base).as_bytes());
            for character in line.chars() {
                // The fonts of fields are Latin ones; others have no code that we could know.
                let code = u8::try_from(u32::from(character)).unwrap_or(b'?');
                content.extend_from_slice(format!("{code:02X}").as_bytes());
            }
            content.extend_from_slice(b"> Tj");
            base -= size * 1.2;
        }
        content.extend_from_slice(b" ET");
        Some((content, self.resources.clone()))
    }
}

/// An entry of a field, or of one of its parents.
fn inherited<'a>(field: &Dict<'a>, key: &str) -> Option<Object<'a>> {
    let mut node = field.clone();
    for _ in 0..LONGEST {
        if let Some(found) = node.get::<Object<'a>>(key) {
            return Some(found);
        }
        node = node.get::<Dict<'a>>("Parent")?;
    }
    None
}

fn number(object: Object<'_>) -> Option<u32> {
    u32::try_from(object.into_number()?.as_i64()).ok()
}

/// The size in `/F1 12 Tf`; zero asks for one that fits.
fn size_of(style: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(style).ok()?;
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let at = words.iter().position(|word| *word == "Tf")?;
    words.get(at.checked_sub(1)?)?.parse::<f64>().ok().filter(|size| (0.0..1000.0).contains(size))
}

/// The style as the beginning of content, with the size that was found to fit.
fn style_with(style: &[u8], size: f64) -> Vec<u8> {
    let name =
        style.split(|b| b.is_ascii_whitespace()).find(|word| word.starts_with(b"/")).unwrap_or(b"/Helv");
    let mut content = b"BT ".to_vec();
    content.extend_from_slice(name);
    content.extend_from_slice(format!(" {size} Tf").as_bytes());
    content
}
