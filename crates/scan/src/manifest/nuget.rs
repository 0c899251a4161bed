//! `*.csproj`, `*.fsproj`, `*.vbproj`: .NET projects.

use super::xml::{self, Element};
use super::{Files, Format, Intent, Manifest, ManifestError, Source};

pub(super) const FORMAT: Format = Format {
    manifest_type: "nuget",
    files: &[
        Files::Ending(".csproj"),
        Files::Ending(".fsproj"),
        Files::Ending(".vbproj"),
    ],
    parse,
};

/// Properties that only somebody who packs sets.
const SIGNS_OF_PACKING: &[&str] = &[
    "PackageId",
    "GeneratePackageOnBuild",
    "PackAsTool",
    "PackageTags",
    "PackageLicenseExpression",
    "PackageReadmeFile",
    "PackageIcon",
];

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let root = xml::read(source)?;
    if root.name != "Project" {
        return Err(ManifestError::NotAManifest(
            "the root element is not <Project>",
        ));
    }
    let file_name = source.file_name();
    let project = Project {
        stem: file_name
            .rsplit_once('.')
            .map_or(file_name, |(stem, _)| stem),
        properties: root
            .children_named("PropertyGroup")
            .flat_map(|group| &group.children)
            .collect(),
    };
    let mut manifest = source.empty();
    // A name that comes from the file's own name is effective but was not declared.
    manifest.name = project
        .property("PackageId")
        .filter(|_| !project.is_derived("PackageId"));
    manifest.effective_name = ["PackageId", "AssemblyName"]
        .iter()
        .find(|name| project.has(name))
        .map_or_else(
            || Some(project.stem.to_owned()),
            |name| project.property(name),
        );
    manifest.version = project
        .property("PackageVersion")
        .or_else(|| project.property("Version"))
        .or_else(|| {
            project
                .property("VersionPrefix")
                .filter(|_| !project.has("VersionSuffix"))
        });
    manifest.repository = project.property("RepositoryUrl");
    judge(&mut manifest, &root, &project);
    Ok(manifest)
}

fn judge(manifest: &mut Manifest, root: &Element, project: &Project<'_>) {
    let is = |name: &str, value: &str| {
        project
            .property(name)
            .is_some_and(|text| text.eq_ignore_ascii_case(value))
    };
    let sdk = root.attribute("Sdk").or_else(|| {
        let import = root
            .children_named("Import")
            .find_map(|import| import.attribute("Sdk"));
        import.or_else(|| root.child("Sdk").and_then(|sdk| sdk.attribute("Name")))
    });
    let tests = root
        .children_named("ItemGroup")
        .flat_map(|group| group.children_named("PackageReference"))
        .any(|reference| {
            reference
                .attribute("Include")
                .is_some_and(|name| name.eq_ignore_ascii_case("Microsoft.NET.Test.Sdk"))
        });
    if is("IsPackable", "false") {
        manifest.deny("IsPackable");
    } else if is("IsPackable", "true") {
        manifest.intent = Intent::Yes;
    } else if is("IsTestProject", "true") || tests {
        manifest.deny("test project");
    } else if SIGNS_OF_PACKING.iter().any(|name| project.has(name)) {
        manifest.intent = Intent::Yes;
    } else if sdk.is_none() {
        manifest.doubt("not an SDK project");
    } else if sdk.is_some_and(|sdk| {
        sdk.starts_with("Microsoft.NET.Sdk.Web") || sdk.starts_with("Microsoft.NET.Sdk.Worker")
    }) {
        manifest.deny("application SDK");
    } else {
        manifest.doubt("packable by default");
    }
}

struct Project<'a> {
    stem: &'a str,
    properties: Vec<&'a Element>,
}

impl Project<'_> {
    fn has(&self, name: &str) -> bool {
        self.written(name).next().is_some()
    }

    /// A property that has one value only, whatever the conditions.
    fn property(&self, name: &str) -> Option<String> {
        self.expand(self.single(name)?, 0)
    }

    fn single<'s>(&'s self, name: &'s str) -> Option<&'s str> {
        let mut found = None;
        for value in self.written(name) {
            if *found.get_or_insert(value) != value {
                return None;
            }
        }
        found
    }

    fn written<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s str> {
        self.properties
            .iter()
            .filter(move |property| property.name.eq_ignore_ascii_case(name))
            .map(|property| property.text.as_str())
            .filter(|text| !text.is_empty())
    }

    fn is_derived(&self, name: &str) -> bool {
        self.single(name).is_some_and(|text| text.contains("$("))
    }

    /// Replaces `$(Property)` by what this file says of it.
    fn expand(&self, text: &str, depth: usize) -> Option<String> {
        let Some((before, rest)) = text.split_once("$(") else {
            return Some(text.to_owned());
        };
        let (name, after) = rest.split_once(')')?;
        if depth > 4 || text.len() > 512 {
            return None;
        }
        let value = match name {
            "MSBuildProjectName" => self.stem.to_owned(),
            "AssemblyName" if !self.has("AssemblyName") => self.stem.to_owned(),
            _ => self.expand(self.single(name)?, depth + 1)?,
        };
        let expanded = format!("{before}{value}{}", self.expand(after, depth + 1)?);
        (expanded.len() <= 512).then_some(expanded)
    }
}
