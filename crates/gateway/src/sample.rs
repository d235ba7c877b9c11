//! Tiny PDFs, made on the spot.
//!
//! For tests, and for a health check that really converts something. Behind the feature `sample`, so that a release without
//! a health check carries none of it.

/// A PDF that is being put together from objects.
///
/// Objects are numbered from 1 in the order of [`add`](Self::add); the first one must be the catalog.
#[derive(Debug, Clone, Default)]
pub struct Builder {
    objects: Vec<Vec<u8>>,
    trailer: String,
}

impl Builder {
    /// Without any object.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an object and answers its number.
    pub fn add(&mut self, object: impl AsRef<[u8]>) -> usize {
        self.objects.push(object.as_ref().to_vec());
        self.objects.len()
    }

    /// Adds a stream: entries of its dictionary, and its bytes. `Length` is filled in.
    pub fn stream(&mut self, entries: &str, data: &[u8]) -> usize {
        let mut object = format!("<<{entries}/Length {}>>stream\n", data.len()).into_bytes();
        object.extend_from_slice(data);
        object.extend_from_slice(b"\nendstream");
        self.add(object)
    }

    /// More entries for the trailer.
    #[must_use]
    pub fn trailer(mut self, entries: &str) -> Self {
        self.trailer.push_str(entries);
        self
    }

    /// The file.
    pub fn build(&self) -> Vec<u8> {
        let mut file = b"%PDF-1.7\n".to_vec();
        let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", self.objects.len() + 1);
        for (number, object) in (1..).zip(&self.objects) {
            table.push_str(&format!("{:010} 00000 n \n", file.len()));
            file.extend_from_slice(format!("{number} 0 obj\n").as_bytes());
            file.extend_from_slice(object);
            file.extend_from_slice(b"\nendobj\n");
        }
        let start = file.len();
        file.extend_from_slice(table.as_bytes());
        let size = self.objects.len() + 1;
        let end =
            format!("trailer\n<</Size {size}/Root 1 0 R{}>>\nstartxref\n{start}\n%%EOF\n", self.trailer);
        file.extend_from_slice(end.as_bytes());
        file
    }
}

/// One page, 600 by 800 points, with this content. `F1` is Helvetica, `F2` Times-Bold.
pub fn page(content: &str) -> Vec<u8> {
    pages(&[content])
}

/// Such a page for each content.
pub fn pages(contents: &[&str]) -> Vec<u8> {
    let mut builder = Builder::new();
    builder.add("<</Type/Catalog/Pages 2 0 R>>");
    let kids: Vec<String> = (0..contents.len()).map(|at| format!("{} 0 R", 5 + 2 * at)).collect();
    builder.add(format!("<</Type/Pages/Count {}/Kids[{}]>>", contents.len(), kids.join(" ")));
    builder.add("<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>");
    builder.add("<</Type/Font/Subtype/Type1/BaseFont/Times-Bold/Encoding/WinAnsiEncoding>>");
    for (at, content) in contents.iter().enumerate() {
        builder.add(format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents {} 0 R\
             /Resources<</Font<</F1 3 0 R/F2 4 0 R>>>>>>",
            6 + 2 * at
        ));
        builder.stream("", content.as_bytes());
    }
    builder.build()
}

/// The smallest file that says something: `Hello, world`.
pub fn hello() -> Vec<u8> {
    page("BT /F1 12 Tf 72 720 Td (Hello, world) Tj ET")
}
