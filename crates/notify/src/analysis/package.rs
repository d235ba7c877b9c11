//! The finished file: what the layout made, and a description that says its title and its time.

use std::io::Cursor;

use docx_rs::Docx;
use redrive_model::Timestamp;

use super::DocumentError;

/// Packs a document. Its description is ours: the library's has no title, and says that nobody wrote it.
pub(super) fn pack(document: Docx, title: &str, made: Timestamp) -> Result<Vec<u8>, DocumentError> {
    let mut parts = document.build();
    parts.doc_props.core = description(title, made).into_bytes();
    let mut file = Cursor::new(Vec::new());
    parts.pack(&mut file).map_err(|error| DocumentError(error.to_string()))?;
    Ok(file.into_inner())
}

fn description(title: &str, made: Timestamp) -> String {
    let at = made.strftime("%Y-%m-%dT%H:%M:%SZ");
    let title = escaped(title);
    format!(
        concat!(
            r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>"#,
            r#"<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties""#,
            r#" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/""#,
            r#" xmlns:dcmitype="http://purl.org/dc/dcmitype/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">"#,
            r#"<dc:title>{title}</dc:title><dc:creator>Redrive</dc:creator><dc:language>en</dc:language>"#,
            r#"<cp:lastModifiedBy>Redrive</cp:lastModifiedBy><cp:revision>1</cp:revision>"#,
            r#"<dcterms:created xsi:type="dcterms:W3CDTF">{at}</dcterms:created>"#,
            r#"<dcterms:modified xsi:type="dcterms:W3CDTF">{at}</dcterms:modified></cp:coreProperties>"#,
        ),
        title = title,
        at = at,
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
