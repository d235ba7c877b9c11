//! What a font is called and how it looks, from its descriptor and its name.

use hayro_syntax::object::{Dict, Name};

const FIXED: u32 = 1;
const SERIF: u32 = 1 << 1;
const ITALIC: u32 = 1 << 6;
const FORCE_BOLD: u32 = 1 << 18;

/// What a font is called and how it looks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Face {
    pub(crate) font: crate::page::Font,
    /// In ems, above the baseline.
    pub(crate) ascent: f32,
    /// In ems, below the baseline; negative.
    pub(crate) descent: f32,
}

impl Face {
    /// Of a font's dictionary; `outer` names it where the inner one of a composite font does not.
    pub(crate) fn new(font: &Dict<'_>, outer: Option<&Dict<'_>>) -> Self {
        let descriptor: Dict<'_> = font.get("FontDescriptor").unwrap_or_default();
        let name = |dict: &Dict<'_>, key: &str| {
            dict.get::<Name<'_>>(key).map(|name| String::from_utf8_lossy(&name).into_owned())
        };
        let name = name(font, "BaseFont")
            .or_else(|| outer.and_then(|outer| name(outer, "BaseFont")))
            .or_else(|| name(&descriptor, "FontName"))
            .or_else(|| name(font, "Name"))
            .unwrap_or_default();
        let name = without_subset(&name).to_owned();
        let flags: u32 = descriptor.get("Flags").unwrap_or(0);
        let embedded = ["FontFile", "FontFile2", "FontFile3"].iter().any(|key| descriptor.contains_key(key));
        let standard = Standard::of(&name);
        let lower = name.to_lowercase();
        let slanted = descriptor.get::<f32>("ItalicAngle").is_some_and(|angle| angle != 0.0);
        let (ascent, descent) = extent(&descriptor, standard, outer.is_some(), embedded);
        Self {
            font: crate::page::Font {
                weight: weight(&lower, &descriptor, flags),
                italic: flags & ITALIC != 0
                    || slanted
                    || lower.contains("italic")
                    || lower.contains("oblique"),
                fixed: flags & FIXED != 0 || standard == Some(Standard::Courier) || lower.contains("mono"),
                serif: flags & SERIF != 0 || standard == Some(Standard::Times),
                name,
            },
            ascent,
            descent,
        }
    }
}

/// `ABCDEF+Name` without what comes before the plus.
fn without_subset(name: &str) -> &str {
    match name.split_once('+') {
        Some((prefix, rest)) if prefix.len() == 6 && prefix.bytes().all(|b| b.is_ascii_uppercase()) => rest,
        _ => name,
    }
}

fn weight(lower: &str, descriptor: &Dict<'_>, flags: u32) -> u16 {
    if let Some(weight) = descriptor.get::<u16>("FontWeight")
        && (100..=900).contains(&weight)
        && weight != 400
    {
        return weight;
    }
    // The longer names first: `semibold` is no `bold`.
    const NAMES: [(&str, u16); 14] = [
        ("extrabold", 800),
        ("ultrabold", 800),
        ("semibold", 600),
        ("demibold", 600),
        ("black", 900),
        ("heavy", 900),
        ("bold", 700),
        ("demi", 600),
        ("medium", 500),
        ("extralight", 200),
        ("ultralight", 200),
        ("thin", 100),
        ("light", 300),
        ("cmbx", 700),
    ];
    let named = NAMES.iter().find(|(name, _)| lower.contains(name)).map(|(_, weight)| *weight);
    named.unwrap_or(if flags & FORCE_BOLD != 0 { 700 } else { 400 })
}

/// The families of fonts that every reader has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standard {
    Courier,
    Helvetica,
    Times,
    Symbol,
    Dingbats,
}

impl Standard {
    fn of(name: &str) -> Option<Self> {
        let name = name.replace(' ', "");
        match name.split(['-', ',']).next().unwrap_or_default() {
            "Courier" | "CourierNew" | "CourierNewPSMT" => Some(Self::Courier),
            "Helvetica" | "Arial" | "ArialMT" => Some(Self::Helvetica),
            "Times" | "TimesNewRoman" | "TimesNewRomanPSMT" | "TimesNewRomanPS" => Some(Self::Times),
            "Symbol" | "SymbolMT" => Some(Self::Symbol),
            "ZapfDingbats" => Some(Self::Dingbats),
            _ => None,
        }
    }
}

/// How far a font reaches above and below its baseline. Descriptors lie with zeros, wrong signs and wild values, and what is
/// said of a standard font that is not embedded describes another font than the one that will be shown.
fn extent(descriptor: &Dict<'_>, standard: Option<Standard>, composite: bool, embedded: bool) -> (f32, f32) {
    let known = standard.filter(|_| !composite).map(|standard| match standard {
        Standard::Courier => (0.629, -0.157),
        Standard::Helvetica => (0.718, -0.207),
        Standard::Times => (0.683, -0.217),
        Standard::Symbol => (1.010, -0.293),
        Standard::Dingbats => (0.820, -0.143),
    });
    if let Some(known) = known
        && !embedded
    {
        return known;
    }
    let (ascent, descent) = known.unwrap_or((0.95, -0.35));
    let said = |key: &str| {
        let value = descriptor.get::<f32>(key)?.abs() / 1000.0;
        (value > 0.0 && value < 3.0).then_some(value)
    };
    (said("Ascent").unwrap_or(ascent), said("Descent").map_or(descent, |below| -below))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hayro_syntax::object::FromBytes;

    fn face(dict: &str) -> Face {
        Face::new(&Dict::from_bytes(dict.as_bytes()).unwrap(), None)
    }

    #[test]
    fn a_subset_loses_its_prefix_and_a_plus_of_its_own_stays() {
        assert_eq!(face("<</BaseFont/ABCDEF+Lato-Bold>>").font.name, "Lato-Bold");
        assert_eq!(face("<</BaseFont/C++>>").font.name, "C++");
    }

    #[test]
    fn looks_come_from_the_name_where_the_descriptor_is_silent() {
        let font = face("<</BaseFont/Times-BoldItalic>>").font;
        assert_eq!((font.weight, font.italic, font.serif, font.fixed), (700, true, true, false));
        let font = face("<</BaseFont/X-Semibold/FontDescriptor<</Flags 1>>>>").font;
        assert_eq!((font.weight, font.italic, font.serif, font.fixed), (600, false, false, true));
    }

    #[test]
    fn a_lying_descriptor_is_not_believed() {
        let wild = face("<</BaseFont/X/FontDescriptor<</Ascent 0/Descent 32768>>>>");
        assert_eq!((wild.ascent, wild.descent), (0.95, -0.35));
        let signs = face("<</BaseFont/X/FontDescriptor<</Ascent 800/Descent 200>>>>");
        assert_eq!((signs.ascent, signs.descent), (0.8, -0.2));
    }
}
