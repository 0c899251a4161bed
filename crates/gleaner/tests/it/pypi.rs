//! `gleaner pypi file`, which needs no database.

use std::io::Write as _;

use rawzip::{CompressionMethod, ZipArchiveWriter, path::EntryPath};
use serde_json::{Value, json};

use crate::sandbox::Sandbox;

const METADATA: &str = "Metadata-Version: 2.1\nName: Fine-Thing\nVersion: 1.2\nRequires-Python: >=3.9\nRequires-Dist: a>=1\nRequires-Dist: b (<2) ; extra == 'more'\nProvides-Extra: more\n";

fn zip(members: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut archive = ZipArchiveWriter::new(&mut bytes);
    for (name, content) in members {
        let name = EntryPath::verbatim(name.as_bytes().to_vec());
        let file = archive.new_file(name);
        let (mut entry, config) = file
            .compression_method(CompressionMethod::DEFLATE)
            .start()
            .unwrap();
        let deflate = flate2::write::DeflateEncoder::new(&mut entry, flate2::Compression::fast());
        let mut writer = config.wrap(deflate);
        writer.write_all(content.as_bytes()).unwrap();
        let (deflate, descriptor) = writer.finish().unwrap();
        deflate.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    bytes
}

fn tar_gz(members: &[(&str, &str)]) -> Vec<u8> {
    let encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut archive = tar::Builder::new(encoder);
    for (name, content) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        archive
            .append_data(&mut header, name, content.as_bytes())
            .unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}

fn read(home: &Sandbox, name: &str, bytes: &[u8]) -> Value {
    std::fs::write(home.path(name), bytes).unwrap();
    let mut command = home.gleaner(["pypi", "file", name, "--format", "json"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn wheels_eggs_and_sources_are_read() {
    let home = Sandbox::new();
    let info = "fine_thing-1.2.dist-info";
    let wheel = read(
        &home,
        "fine_thing-1.2-py3-none-any.whl",
        &zip(&[
            ("fine/__init__.py", ""),
            ("fine/part.py", ""),
            (&format!("{info}/METADATA"), METADATA),
            (&format!("{info}/WHEEL"), "Wheel-Version: 1.0\n"),
            (
                &format!("{info}/entry_points.txt"),
                "[console_scripts]\nfine = fine.part:main\n",
            ),
        ]),
    );
    let expected = [
        ("filename", json!("fine_thing-1.2-py3-none-any.whl")),
        ("kind", json!("wheel")),
        ("name", json!("Fine-Thing")),
        ("version", json!("1.2")),
        ("requires_python", json!(">=3.9")),
        ("requires_dist", json!(["a>=1", "b (<2) ; extra == 'more'"])),
        ("extras", json!(["more"])),
        ("modules", json!(["fine", "fine.part"])),
        ("import_names", json!(["fine"])),
        (
            "entry_points",
            json!([{"group": "console_scripts", "name": "fine", "target": "fine.part:main"}]),
        ),
        ("warnings", json!([])),
    ];
    for (field, value) in expected {
        assert_eq!(wheel[field], value, "{field}");
    }
    assert_eq!(wheel["sha256"].as_str().unwrap().len(), 64);
    assert!(wheel["bytes_read"].as_u64().unwrap() <= wheel["size"].as_u64().unwrap());

    let egg = read(
        &home,
        "fine_thing-1.2-py3.9.egg",
        &zip(&[
            ("EGG-INFO/PKG-INFO", "Name: Fine-Thing\nVersion: 1.2\n"),
            ("EGG-INFO/requires.txt", "a>=1\n"),
            ("fine.py", ""),
        ]),
    );
    assert_eq!(egg["kind"], "egg");
    assert_eq!(egg["requires_dist"], json!(["a>=1"]));
    assert_eq!(egg["requires_python"], Value::Null);
    assert_eq!(egg["modules"], json!(["fine"]));

    let sdist = read(
        &home,
        "fine-thing-1.2.tar.gz",
        &tar_gz(&[
            ("fine-thing-1.2/PKG-INFO", METADATA),
            ("fine-thing-1.2/setup.py", "from setuptools import setup\n"),
            ("fine-thing-1.2/src/fine/__init__.py", ""),
        ]),
    );
    assert_eq!(sdist["kind"], "sdist");
    assert_eq!(sdist["name"], "Fine-Thing");
    assert_eq!(sdist["modules"], json!(["fine"]));
}

#[test]
fn what_is_no_distribution_is_refused() {
    let home = Sandbox::new();
    home.write("notes.txt", "no distribution");
    home.write("fine_thing-1.2-py3-none-any.whl", "no zip");
    insta::assert_snapshot!("other", home.run(["pypi", "file", "notes.txt"]));
    let damaged = home.run(["pypi", "file", "fine_thing-1.2-py3-none-any.whl"]);
    insta::assert_snapshot!("damaged", damaged);
    let missing = home.run(["pypi", "file", "nowhere-1.0.tar.gz"]);
    assert!(missing.starts_with("exit: 2"), "{missing}");
}
