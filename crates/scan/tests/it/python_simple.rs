//! Pages of the Simple API, in JSON and in HTML.

use proptest::prelude::*;
use scan::python::simple::{
    ListedFile, MetadataFile, PageFault, ProjectPage, ProjectStatus, RootPage, Yanked,
};

const JSON: &[u8] = include_bytes!("../../testdata/python/project.json");
const HTML: &[u8] = include_bytes!("../../testdata/python/project.html");

fn hashes(pairs: &[(&str, &str)]) -> std::collections::BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(name, digest)| ((*name).to_owned(), (*digest).to_owned()))
        .collect()
}

fn yanked(reason: &str) -> Yanked {
    Yanked::Yes {
        reason: Some(reason.to_owned()),
    }
}

#[test]
fn a_json_page_is_read() {
    let page = ProjectPage::parse(JSON).unwrap();
    assert_eq!(page.name.as_deref(), Some("sample"));
    assert_eq!(page.versions, ["1.0", "1.1", "2.0"]);
    assert_eq!(page.status, ProjectStatus::Archived);
    assert_eq!(page.status_reason.as_deref(), Some("moved on"));
    assert_eq!(page.last_serial, Some(12345));
    assert_eq!(page.api_version.as_deref(), Some("1.4"));
    assert_eq!(page.skipped, 2);
    assert_eq!(
        page.files,
        [
            ListedFile {
                filename: "sample-1.0.tar.gz".into(),
                url: "https://files.example.org/sample-1.0.tar.gz".into(),
                hashes: hashes(&[("sha256", "abcdef00"), ("blake2b", "11")]),
                size: Some(1234),
                upload_time: Some("2024-01-02T03:04:05.678901Z".into()),
                core_metadata: MetadataFile::Absent,
                ..ListedFile::default()
            },
            ListedFile {
                filename: "sample-1.1-py3-none-any.whl".into(),
                url: "../../packages/sample-1.1-py3-none-any.whl".into(),
                requires_python: Some(">=3.9".into()),
                yanked: yanked("broken on Windows"),
                core_metadata: MetadataFile::Present {
                    hashes: hashes(&[("sha256", "aa")])
                },
                provenance: Some("https://example.org/provenance".into()),
                ..ListedFile::default()
            },
            ListedFile {
                filename: "sample-2.0.tar.gz".into(),
                url: "sample-2.0.tar.gz".into(),
                yanked: Yanked::Yes { reason: None },
                core_metadata: MetadataFile::Present {
                    hashes: hashes(&[])
                },
                ..ListedFile::default()
            },
        ]
    );
}

#[test]
fn an_html_page_is_read() {
    let page = ProjectPage::parse(HTML).unwrap();
    assert_eq!(page.status, ProjectStatus::Quarantined);
    assert_eq!(page.status_reason.as_deref(), Some("malware & worse"));
    assert_eq!(page.last_serial, Some(777));
    assert_eq!(page.skipped, 1);
    assert_eq!(
        page.files,
        [
            ListedFile {
                filename: "sample-1.0.tar.gz".into(),
                url: "https://files.example.org/sample-1.0.tar.gz".into(),
                hashes: hashes(&[("sha256", "abcdef00")]),
                core_metadata: MetadataFile::Absent,
                ..ListedFile::default()
            },
            ListedFile {
                filename: "sample-1.1-py3-none-any.whl".into(),
                url: "../../packages/sample-1.1-py3-none-any.whl".into(),
                hashes: hashes(&[("sha256", "00ff")]),
                requires_python: Some(">=3.9,<4".into()),
                yanked: yanked("broken \"here\""),
                core_metadata: MetadataFile::Present {
                    hashes: hashes(&[("sha256", "aa")])
                },
                ..ListedFile::default()
            },
            ListedFile {
                filename: "sample-2.0.tar.gz".into(),
                url: "sample-2.0.tar.gz".into(),
                yanked: Yanked::Yes { reason: None },
                ..ListedFile::default()
            },
            ListedFile {
                filename: "unnamed-3.zip".into(),
                url: "/packages/unnamed-3.zip?x=1".into(),
                ..ListedFile::default()
            },
        ]
    );
}

#[test]
fn an_empty_project_must_say_that_it_is_one() {
    let empty = |page: &str| ProjectPage::parse(page.as_bytes()).map(|page| page.files.len());
    assert_eq!(
        empty("<html><head><title>Links for x</title></head><body></body></html>"),
        Ok(0)
    );
    assert_eq!(empty("<html><h1>Simple index</h1></html>"), Ok(0));
    assert_eq!(
        empty("{\"meta\": {\"api-version\": \"1.0\"}, \"name\": \"x\", \"files\": []}"),
        Ok(0)
    );
    for wall in [
        "<html><title>Just a moment...</title><script>x</script></html>",
        "<html><body><form><a href='/login'>login</a></form></body></html>",
        "{\"error\": \"rate limited\"}",
        "",
        "Too many requests",
    ] {
        assert_eq!(empty(wall), Err(PageFault::NotAnIndex), "{wall}");
        assert!(RootPage::parse(wall.as_bytes()).is_err(), "{wall}");
    }
    assert!(matches!(empty("{\"files\": [}"), Err(PageFault::Json(_))));
}

#[test]
fn pages_of_another_major_version_are_not_read() {
    let json = br#"{"meta": {"api-version": "2.0"}, "files": [], "projects": []}"#;
    assert_eq!(
        ProjectPage::parse(json),
        Err(PageFault::ApiVersion("2.0".into()))
    );
    assert_eq!(
        RootPage::parse(json),
        Err(PageFault::ApiVersion("2.0".into()))
    );
    let html =
        br#"<meta name="pypi:repository-version" content="2.0"><a href="a-1.zip">a-1.zip</a>"#;
    assert_eq!(
        ProjectPage::parse(html),
        Err(PageFault::ApiVersion("2.0".into()))
    );
}

#[test]
fn roots_are_read_in_all_forms() {
    let names = |page: &str| {
        let page = RootPage::parse(page.as_bytes()).unwrap();
        let names: Vec<_> = page
            .projects
            .into_iter()
            .map(|project| (project.name, project.last_serial))
            .collect();
        (names, page.last_serial)
    };
    let json = r#"{"meta": {"_last-serial": 9, "api-version": "1.1"}, "projects": [{"name": "A.b", "_last-serial": 7}, {"name": "c"}]}"#;
    assert_eq!(
        names(json),
        (vec![("A.b".into(), Some(7)), ("c".into(), None)], Some(9))
    );
    let both = vec![("A.b".into(), None), ("c".into(), None)];
    let titled = r#"<html><title>Simple index</title><a href="/simple/a-b/">A.b</a><a href="/simple/c/">c</a><!--SERIAL 9--></html>"#;
    assert_eq!(names(titled), (both.clone(), Some(9)));
    let bare = "<!DOCTYPE html><html><body>\n<a href=\"a-b/\">A.b</a>\n<a href=\"c/\">c</a>\n</body></html>";
    assert_eq!(names(bare), (both, None));
    let stranger = "<html><a href='/about/us'>About</a><a href='c/'>c</a></html>";
    assert_eq!(
        RootPage::parse(stranger.as_bytes()),
        Err(PageFault::NotAnIndex)
    );
}

proptest! {
    #[test]
    fn damaged_pages_are_survived(at: prop::sample::Index, byte: u8, cut: prop::sample::Index) {
        for page in [JSON, HTML] {
            let mut bytes = page.to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            for bytes in [&bytes[..], &bytes[..cut.index(page.len())], &bytes[cut.index(page.len())..]] {
                let _ = (ProjectPage::parse(bytes), RootPage::parse(bytes));
            }
        }
    }

    #[test]
    fn html_and_json_agree(files in proptest::collection::vec(("[a-z]{1,6}", "[0-9]\\.[0-9]", any::<bool>()), 1..10)) {
        let mut html = vec![String::from("<html><body>")];
        let mut json = Vec::new();
        for (name, version, yanked) in &files {
            let file = format!("{name}-{version}.tar.gz");
            let note = if *yanked { " data-yanked=\"why\"" } else { "" };
            html.push(format!("<a href=\"/f/{file}#sha256=0a\"{note}>{file}</a>"));
            let yanked = if *yanked { serde_json::json!("why") } else { serde_json::json!(false) };
            json.push(serde_json::json!({"filename": file, "url": format!("/f/{file}"), "hashes": {"sha256": "0a"}, "yanked": yanked}));
        }
        let json = serde_json::json!({"meta": {"api-version": "1.0"}, "name": "x", "files": json}).to_string();
        prop_assert_eq!(ProjectPage::parse(html.concat().as_bytes()).unwrap().files, ProjectPage::parse(json.as_bytes()).unwrap().files);
    }
}
