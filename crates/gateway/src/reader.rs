//! The reader behind the cage.

use std::ops::RangeInclusive;

use crate::convert::{Reader, Refusal, RefusalCode};
use crate::page::Document;
use crate::pdf::{self, Ask, Limits};

/// Reads real PDFs.
#[derive(Debug, Clone, Copy, Default)]
pub struct PdfReader {
    /// How much a file may ask for.
    pub limits: Limits,
}

impl Reader for PdfReader {
    type Properties = pdf::Properties;

    fn read(&self, pdf: Vec<u8>, pages: Option<RangeInclusive<u32>>) -> Result<Document, Refusal> {
        pdf::read(pdf, &Ask { pages, limits: self.limits }).map_err(Refusal::from)
    }

    fn inspect(&self, pdf: Vec<u8>) -> Result<pdf::Properties, Refusal> {
        pdf::inspect(pdf, &self.limits).map_err(Refusal::from)
    }
}

impl From<pdf::Refusal> for Refusal {
    fn from(refusal: pdf::Refusal) -> Self {
        let code = match refusal {
            pdf::Refusal::InvalidPdf => RefusalCode::InvalidPdf,
            pdf::Refusal::PasswordRequired => RefusalCode::PasswordRequired,
            pdf::Refusal::UnsupportedEncryption => RefusalCode::UnsupportedEncryption,
            pdf::Refusal::TooManyPages { .. } => RefusalCode::TooManyPages,
            pdf::Refusal::LimitExceeded(_) => RefusalCode::LimitExceeded,
        };
        Self::new(code, sentence(&refusal.to_string()))
    }
}

/// An error's words as people read them.
fn sentence(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map(|first| first.to_uppercase().chain(rest).chain(['.']).collect()).unwrap_or_default()
}
