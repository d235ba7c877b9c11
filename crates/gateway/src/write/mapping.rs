//! The names of the mappings and where their schemas are.

/// One way to write a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mapping {
    /// Our own: pages, blocks, lines and words with boxes.
    Text,
    /// ALTO 4.4.
    Alto,
    /// TEI P5.
    Tei,
    /// DocBook 5.0.
    Docbook,
}

/// Where a mapping's schema is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schema {
    /// Built in, because nobody else has it.
    Own(&'static str),
    /// Kept by those who made the format.
    Elsewhere(&'static str),
}

impl Mapping {
    /// All of them; the first is the default.
    pub const ALL: [Self; 4] = [Self::Text, Self::Alto, Self::Tei, Self::Docbook];

    /// The mapping of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mapping| mapping.name() == name)
    }

    /// What requests call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Alto => "alto",
            Self::Tei => "tei",
            Self::Docbook => "docbook",
        }
    }

    /// What people call it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Text => "Text with boxes",
            Self::Alto => "ALTO 4.4",
            Self::Tei => "TEI P5",
            Self::Docbook => "DocBook 5.0",
        }
    }

    /// What its answers say they are.
    pub fn media_type(self) -> &'static str {
        "application/xml"
    }

    /// What its output is valid against.
    pub fn schema(self) -> Schema {
        match self {
            Self::Text => Schema::Own(include_str!("../../schema/text.xsd")),
            Self::Alto => Schema::Elsewhere("https://www.loc.gov/standards/alto/v4/alto-4-4.xsd"),
            Self::Tei => {
                Schema::Elsewhere("https://www.tei-c.org/release/xml/tei/custom/schema/xsd/tei_all.xsd")
            }
            Self::Docbook => Schema::Elsewhere("https://docbook.org/xml/5.0/xsd/docbook.xsd"),
        }
    }
}
