//! What is wrong with the file, shown on its own lines with a caret.

use std::{fmt::Write as _, ops::Range, path::Path};

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use crate::{
    error::{Code, Failure},
    printer::visible,
};

/// More than this is a file of another program.
const SHOWN: usize = 10;

/// One thing that is wrong.
#[derive(Debug)]
pub(super) struct Complaint {
    pub(super) code: &'static Code,
    pub(super) title: String,
    pub(super) span: Range<usize>,
    /// Beside the caret; may be empty.
    pub(super) label: String,
    pub(super) hints: Vec<String>,
}

/// All complaints as one failure; `complaints` is not empty.
pub(super) fn failure(path: &Path, text: &str, mut complaints: Vec<Complaint>) -> Failure {
    complaints.sort_by_key(|complaint| complaint.span.start);
    let shown = path.display().to_string();
    let mut picture = String::new();
    for complaint in complaints.iter().take(SHOWN) {
        picture.push_str(&draw(&shown, text, complaint));
        picture.push_str("\n\n");
    }
    if complaints.len() > SHOWN {
        let _ = writeln!(picture, "and {} more", complaints.len() - SHOWN);
    }
    let mut failure = match complaints.first() {
        Some(first) => Failure::new(first.code, format!("{shown}: {}", first.title)),
        None => Failure::new(&crate::error::codes::CONFIG_SYNTAX, shown),
    };
    for hint in complaints
        .into_iter()
        .take(SHOWN)
        .flat_map(|complaint| complaint.hints)
    {
        failure = failure.hint(hint);
    }
    failure.picture(picture)
}

fn draw(path: &str, text: &str, complaint: &Complaint) -> String {
    let end = complaint.span.end.min(text.len());
    let span = complaint.span.start.min(end)..end;
    let annotation = AnnotationKind::Primary.span(span);
    let annotation = if complaint.label.is_empty() {
        annotation
    } else {
        annotation.label(visible(&complaint.label))
    };
    let title = Level::ERROR
        .primary_title(visible(&complaint.title))
        .id(complaint.code.name);
    let report = [title.element(Snippet::source(text).path(path).annotation(annotation))];
    Renderer::styled().render(&report)
}
