//! The files of each repository, as its last push left them.
//!
//! They follow from the repository alone and hold exactly what [`declared`] says, beside manifests
//! that declare nothing: of tests, of examples, of code copied in. A push changes the first
//! manifest and the notes, and leaves the rest as it was.

use facts::git_object::blob_id;

use super::{
    Repository,
    declared::{Declared, Layout, declared, layout},
};
use crate::dice::{Dice, fingerprint};

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// From the top, with `/`.
    pub path: String,
    /// What stands in it.
    pub contents: Vec<u8>,
}

impl File {
    /// A file of text.
    pub fn new(path: impl Into<String>, contents: impl Into<Vec<u8>>) -> Self {
        Self {
            path: path.into(),
            contents: contents.into(),
        }
    }

    /// The id that git gives its contents.
    pub fn id(&self) -> String {
        blob_id(&self.contents)
    }
}

/// The files of a repository, by path. None if it has no commit.
pub fn files(repository: &Repository) -> Vec<File> {
    if repository.empty {
        return Vec::new();
    }
    let name = repository.first_name.as_str();
    let mut dice = Dice(fingerprint(name.as_bytes()) ^ repository.id);
    let mut files = vec![
        File::new("README.md", format!("# {name}\n")),
        File::new("CHANGES", format!("{}\n", repository.pushed_at)),
        File::new("src/main.txt", "the work itself\n"),
    ];
    files.extend(super::licenses::licenses(repository));
    let declared = declared(repository);
    for (index, one) in declared.iter().enumerate() {
        let version = match index {
            0 => format!(
                "1.{}.0",
                repository.pushed_at.as_second().rem_euclid(100_000)
            ),
            _ => dice.version(),
        };
        files.push(manifest(one, &version));
    }
    if layout(repository) == Layout::Monorepo && declared[0].ecosystem == "cargo" {
        let text = "[workspace]\nmembers = [\"packages/*\"]\nresolver = \"3\"\n";
        files.push(File::new("Cargo.toml", text));
    }
    for (one_in, path, package) in [
        (4, "tests/fixtures/sample/package.json", "sample-of-a-test"),
        (5, "examples/hello/package.json", "hello-example"),
        (8, "vendor/left-pad/package.json", "left-pad"),
    ] {
        if dice.below(one_in) == 0 {
            let text = format!("{{\"name\": \"{package}\", \"version\": \"1.0.0\"}}\n");
            files.push(File::new(path, text));
        }
    }
    // A few are larger than a page of any forge that pages trees.
    if dice.below(25) == 0 {
        for page in 0..240 {
            files.push(File::new(format!("docs/page-{page:03}.md"), "text\n"));
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// The manifest of a declaration.
fn manifest(declared: &Declared, version: &str) -> File {
    let package = declared.package.as_str();
    let denied = declared.intent == "denied";
    let (file, text) = match declared.ecosystem {
        "npm" => {
            let private = if denied { ", \"private\": true" } else { "" };
            let text =
                format!("{{\"name\": \"{package}\", \"version\": \"{version}\"{private}}}\n");
            ("package.json".to_owned(), text)
        }
        "cargo" => {
            let publish = if denied { "publish = false\n" } else { "" };
            let text =
                format!("[package]\nname = \"{package}\"\nversion = \"{version}\"\n{publish}");
            ("Cargo.toml".to_owned(), text)
        }
        "pypi" => {
            let private = "classifiers = [\"Private :: Do Not Upload\"]\n";
            let classifiers = if denied { private } else { "" };
            let text =
                format!("[project]\nname = \"{package}\"\nversion = \"{version}\"\n{classifiers}");
            ("pyproject.toml".to_owned(), text)
        }
        "maven" => ("pom.xml".to_owned(), pom(package, version, denied)),
        "rubygems" => {
            let text = format!(
                "Gem::Specification.new do |s|\n  s.name = \"{package}\"\n  s.version = \"{version}\"\nend\n"
            );
            (format!("{package}.gemspec"), text)
        }
        "nuget" => {
            let packable = !denied;
            let text = format!(
                "<Project Sdk=\"Microsoft.NET.Sdk\"><PropertyGroup><PackageId>{package}</PackageId>\
                 <Version>{version}</Version><IsPackable>{packable}</IsPackable></PropertyGroup></Project>\n"
            );
            (format!("{package}.csproj"), text)
        }
        _ => {
            let publish = if denied { "publish_to: none\n" } else { "" };
            let text = format!("name: {package}\nversion: {version}\n{publish}");
            ("pubspec.yaml".to_owned(), text)
        }
    };
    let path = match declared.directory.as_str() {
        "" => file,
        directory => format!("{directory}/{file}"),
    };
    File::new(path, text)
}

fn pom(package: &str, version: &str, denied: bool) -> String {
    let (group, artifact) = package.split_once(':').unwrap_or(("org.meadow", package));
    let skip = if denied {
        "<properties><maven.deploy.skip>true</maven.deploy.skip></properties>"
    } else {
        ""
    };
    format!(
        "<project><modelVersion>4.0.0</modelVersion><groupId>{group}</groupId>\
         <artifactId>{artifact}</artifactId><version>{version}</version>{skip}</project>\n"
    )
}
