//! The same promises, and a whole update, against a server that speaks S3.
//!
//! `cargo xtask test` installs one and names it; without it the test says that it compared nothing.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::Arc,
};

use db::testing::TestDb;
use secrecy::SecretString;
use store::{
    datasets::{self, Library, Updated},
    objects::{Objects, Place},
};

use super::{objects, world};

/// The directory that holds the server's Python packages.
const SERVER: &str = "GLEANER_MOTO";
/// Why there is none.
const NO_SERVER: &str = "GLEANER_NO_MOTO";

struct Server {
    process: Child,
    address: String,
}

impl Server {
    #[expect(clippy::print_stderr, reason = "nothing is skipped in silence")]
    fn start() -> Option<Self> {
        let Some(packages) = std::env::var_os(SERVER)
            .map(PathBuf::from)
            .or_else(installed)
        else {
            let why = std::env::var(NO_SERVER);
            let why = why.unwrap_or_else(|_| "run `cargo xtask test` once to install it".into());
            eprintln!("NOT COMPARED with a server that speaks S3: {why}");
            return None;
        };
        let main = "from moto.server import main; main(['-H', '127.0.0.1', '-p', '0'])";
        let mut process = Command::new("python3")
            .args(["-u", "-c", main])
            .env("PYTHONPATH", packages)
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let address = loop {
            let line = lines.next().expect("the server did not start").unwrap();
            if let Some((_, rest)) = line.split_once("http://") {
                break rest.split_whitespace().next().unwrap().to_owned();
            }
        };
        // It writes a line for each request, and must never wait for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        Some(Self { process, address })
    }

    fn bucket(&self, name: &str) -> Objects {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let host = &self.address;
        write!(
            stream,
            "PUT /{name} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let Place::S3(mut s3) = Place::parse(&format!("s3://{name}/prod/v1")).unwrap() else {
            unreachable!()
        };
        s3.endpoint = Some(format!("http://{host}"));
        s3.keys = Some(("id".to_owned(), SecretString::from("secret")));
        Objects::open(&Place::S3(s3)).unwrap()
    }
}

/// Where `cargo xtask test` puts it.
fn installed() -> Option<PathBuf> {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(home)?;
    let place = cache.join("gleaner-tests/moto");
    place.join("moto").is_dir().then_some(place)
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_server_keeps_the_promises_and_serves_datasets() {
    let Some(server) = Server::start() else {
        return;
    };
    objects::promises(&server.bucket("promises")).await;

    let test = TestDb::sqlite(&[store::PART]).await;
    let mut world = world::World::new(&test);
    world.objects = server.bucket("datasets");
    world
        .set(world::file("flask", "3.0", &["flask"], &["click>=8"]))
        .await;
    world.full_dump(&world.objects, 4).await.unwrap();
    let updated = datasets::update(&world.objects, &world.shop())
        .await
        .unwrap();
    assert!(matches!(
        updated,
        Updated::Published {
            incremental: false,
            ..
        }
    ));
    world
        .set(world::file("flask", "3.1", &["flask"], &["click>=8.1"]))
        .await;
    world.incremental(&world.objects).await.unwrap().unwrap();
    let updated = datasets::update(&world.objects, &world.shop())
        .await
        .unwrap();
    let Updated::Published {
        manifest,
        incremental: true,
        ..
    } = updated
    else {
        panic!("{updated:?}");
    };
    let files = manifest.files.iter();
    let found = files.map(|(name, file)| (name.clone(), file.sha256.clone()));
    assert_eq!(world.expected(), found.collect());

    let library = Library::new(world.objects.clone(), world.place.path().join("cache"));
    let generation = library.current().await.unwrap().unwrap();
    assert_eq!(generation.number(), 2);
    let found = generation.module("flask", 10).unwrap();
    assert_eq!(found[0].versions, ["3.0", "3.1"]);
    let list = world
        .objects
        .get("datasets/input_lists/00002", 10_000)
        .await
        .unwrap();
    let list = String::from_utf8(list.unwrap()).unwrap();
    assert!(list.lines().count() == 5 && list.starts_with("s3://datasets/prod/v1/data_dumps/"));
    drop::<Arc<_>>(generation);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_without_secrets() {
    let Place::S3(mut s3) = Place::parse("s3://nobody/x").unwrap() else {
        unreachable!()
    };
    // Nobody listens on the port of "discard".
    s3.endpoint = Some("http://127.0.0.1:9".to_owned());
    s3.keys = Some(("hushed-id".to_owned(), SecretString::from("hushed-secret")));
    let objects = Objects::open(&Place::S3(s3)).unwrap();
    let error = objects.get("a", 10).await.unwrap_err();
    let shown = format!("{error} {error:?} {objects:?}");
    assert!(shown.contains("s3://nobody/x/a"), "{shown}");
    assert!(!shown.contains("hushed-secret"), "{shown}");
}
