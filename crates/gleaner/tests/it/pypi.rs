//! `gleaner pypi file`, which needs no database.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

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

/// A server of one file, which gives parts of it or not; it knows what it was asked for.
struct FileServer {
    address: String,
    ranges: Arc<Mutex<Vec<String>>>,
}

impl FileServer {
    fn start(name: &str, file: Vec<u8>, in_parts: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap();
        let ranges = Arc::new(Mutex::new(Vec::new()));
        let (seen, path) = (ranges.clone(), format!("/files/{name}"));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let _ = answer(stream.unwrap(), &path, &file, in_parts, &seen);
            }
        });
        Self {
            address: format!("http://{host}/files/{name}"),
            ranges,
        }
    }
}

fn answer(
    mut stream: TcpStream,
    path: &str,
    file: &[u8],
    in_parts: bool,
    seen: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().unwrap_or(Ok(String::new()))?;
    let headers: Vec<String> = lines
        .map_while(Result::ok)
        .take_while(|line| !line.is_empty())
        .collect();
    let range = headers.iter().find_map(|line| {
        line.to_ascii_lowercase()
            .strip_prefix("range: bytes=")
            .map(str::to_owned)
    });
    seen.lock().unwrap().extend(range.clone());
    let end = "connection: close\r\ncontent-type: application/octet-stream\r\n";
    if request.split(' ').nth(1) != Some(path) {
        return write!(
            stream,
            "HTTP/1.1 404 Not Found\r\n{end}content-length: 0\r\n\r\n"
        );
    }
    let (status, part, told) = match range.filter(|_| in_parts) {
        Some(range) => {
            let (first, last) = range.split_once('-').unwrap();
            let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
            let last = last.min(file.len() - 1);
            let told = format!("content-range: bytes {first}-{last}/{}\r\n", file.len());
            ("206 Partial Content", &file[first..=last], told)
        }
        None => ("200 OK", file, String::new()),
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\n{end}{told}content-length: {}\r\n\r\n",
        part.len()
    )?;
    stream.write_all(part)
}

/// More than a megabyte that does not get smaller.
fn noise() -> String {
    let mut state = 1_u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        format!("{:016x}", state.rotate_left(17))
    };
    (0..160_000).map(|_| next()).collect()
}

fn large_wheel() -> Vec<u8> {
    let info = "fine_thing-1.2.dist-info";
    let noise = noise();
    zip(&[
        ("fine/__init__.py", ""),
        ("fine/data.bin", noise.as_str()),
        (&format!("{info}/METADATA"), METADATA),
        (
            &format!("{info}/WHEEL"),
            "Wheel-Version: 1.0\nTag: py3-none-any\n",
        ),
        (&format!("{info}/RECORD"), ""),
    ])
}

fn fetch(home: &Sandbox, address: &str) -> Value {
    let output = home
        .gleaner(["pypi", "file", address, "--format", "json"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn of_a_wheel_at_an_address_only_a_little_is_fetched() {
    let home = Sandbox::new();
    let name = "fine_thing-1.2-py3-none-any.whl";
    let file = large_wheel();
    let size = file.len() as u64;
    assert!(size > 1 << 20, "{size}");
    let server = FileServer::start(name, file.clone(), true);
    let from_afar = fetch(&home, &server.address);
    let here = read(&home, name, &file);
    for column in [
        "name",
        "version",
        "requires_dist",
        "modules",
        "import_names",
        "entry_points",
    ] {
        assert_eq!(from_afar[column], here[column], "{column}");
    }
    assert_eq!(
        (&from_afar["size"], &from_afar["sha256"]),
        (&json!(size), &Value::Null)
    );
    let fetched = from_afar["bytes_read"].as_u64().unwrap();
    assert!(fetched <= size / 20, "{fetched} of {size}");
    let asked = server.ranges.lock().unwrap().clone();
    assert!(asked.len() <= 4, "{asked:?}");

    // Whoever gives no parts gives all, and then its hash is known.
    let whole = FileServer::start(name, file, false);
    let read = fetch(&home, &whole.address);
    assert_eq!(
        (&read["sha256"], &read["bytes_read"]),
        (&here["sha256"], &json!(size))
    );
    let right = format!(
        "{}#sha256={}",
        whole.address,
        here["sha256"].as_str().unwrap()
    );
    fetch(&home, &right);
    let wrong = home.run(["pypi", "file", &format!("{}#sha256=00", whole.address)]);
    assert!(
        wrong.starts_with("exit: 4") && wrong.contains("SHA-256"),
        "{wrong}"
    );
}

#[test]
fn a_source_distribution_is_fetched_whole_and_silence_is_no_absence() {
    let home = Sandbox::new();
    let file = tar_gz(&[("fine-thing-1.2/PKG-INFO", METADATA)]);
    let server = FileServer::start("fine-thing-1.2.tar.gz", file.clone(), true);
    let read = fetch(&home, &server.address);
    assert_eq!(
        (&read["kind"], &read["size"]),
        (&json!("sdist"), &json!(file.len()))
    );
    assert!(read["sha256"].is_string());
    let absent = home.run(["pypi", "file", &server.address.replace("1.2", "1.3")]);
    assert!(absent.starts_with("exit: 1"), "{absent}");
    // A port that nobody listens on.
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let silent = home.run([
        "pypi",
        "file",
        &format!("http://{free}/fine-thing-1.2.tar.gz"),
    ]);
    assert!(
        silent.starts_with("exit: 3") && silent.contains("E-UPSTREAM-ANSWER"),
        "{silent}"
    );
    let secret = home.run([
        "pypi",
        "file",
        "https://me:pa55word@host/fine-thing-1.2.tar.gz",
    ]);
    assert!(
        secret.starts_with("exit: 2") && !secret.contains("pa55word"),
        "{secret}"
    );
}
