//! `jsr.json`: packages for JSR; the fields are those of `deno.json`.

use super::{Files, Format, deno};

pub(super) const FORMAT: Format = Format {
    manifest_type: "jsr",
    files: &[Files::Named("jsr.json"), Files::Named("jsr.jsonc")],
    parse: deno::parse,
};
