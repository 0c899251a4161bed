//! `pom.xml`: Maven.

use super::resolve::{Maven, MavenParent};
use super::xml::{self, Element};
use super::{Files, Format, Intent, Manifest, ManifestError, Source};

pub(super) const FORMAT: Format = Format {
    manifest_type: "maven",
    files: &[Files::Named("pom.xml")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let project = xml::read(source)?;
    if project.name != "project" {
        return Err(ManifestError::NotAManifest(
            "the root element is not <project>",
        ));
    }
    let maven = read(&project);
    let mut manifest = source.empty();
    manifest.name = maven.name(&|_| None);
    manifest.version = maven.version(&|_| None);
    manifest.repository = project.child("scm").and_then(|scm| {
        scm.text_of("url")
            .or_else(|| scm.text_of("connection"))
            .or_else(|| scm.text_of("developerConnection"))
    });
    if maven.skips_deployment() {
        manifest.deny("maven.deploy.skip");
    } else if maven.artifact.is_none() {
        manifest.deny("no artifactId");
    } else {
        manifest.intent = Intent::Yes;
        if project.text_of("packaging").as_deref() == Some("pom") {
            manifest.reason = Some("packaging: pom".to_owned());
        }
    }
    manifest.hints.maven = Some(Box::new(maven));
    Ok(manifest)
}

fn read(project: &Element) -> Maven {
    let properties = project
        .child("properties")
        .map_or_else(Vec::new, |properties| {
            properties
                .children
                .iter()
                .map(|property| (property.name.clone(), property.text.clone()))
                .collect()
        });
    Maven {
        group: project.text_of("groupId"),
        artifact: project.text_of("artifactId"),
        version: project.text_of("version"),
        properties,
        parent: project.child("parent").map(|parent| MavenParent {
            group: parent.text_of("groupId"),
            artifact: parent.text_of("artifactId"),
            version: parent.text_of("version"),
            // An empty element means: do not look for it in the tree.
            relative_path: parent
                .child("relativePath")
                .map_or_else(|| "../pom.xml".to_owned(), |path| path.text.clone()),
        }),
    }
}
