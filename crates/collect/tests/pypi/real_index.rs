//! The index that pip is configured with: what is stored of wheels is what Python itself reads from
//! the whole of them. Where that index cannot be reached the test says so and compares nothing.

use std::{collections::BTreeMap, process::Command, time::Duration};

use collect::{
    collector::Registered,
    http::{self, Http, UpstreamSettings},
    pypi::{IndexAddress, PypiFile, PypiProject, Settings, UPSTREAM, project_unit},
};
use db::{Clock, testing::TestDb};
use engine::{Engine, Pool, Timing, Worker};
use scan::python::compare_versions;
use serde_json::Value;
use store::pypi::{self, Extracted, FileKind, FileRow};
use tokio_util::sync::CancellationToken;

use crate::world::PARTS;

/// Fetches wheels whole and tells what Python's own reader and a plain listing make of them.
const JUDGE: &str = r#"
import importlib.metadata, io, json, re, sys, urllib.request, zipfile
for line in sys.stdin:
    url = line.strip()
    body = urllib.request.urlopen(url, timeout=120).read()
    wheel = zipfile.ZipFile(io.BytesIO(body))
    names = wheel.namelist()
    info = next(n for n in names if re.fullmatch(r"[^/]+\.dist-info/METADATA", n)).split("/")[0]
    read = importlib.metadata.PathDistribution(zipfile.Path(wheel, info + "/"))
    modules = set()
    for name in names:
        data = re.match(r"[^/]+\.data/(purelib|platlib)/", name)
        if data:
            name = name[data.end():]
        elif re.match(r"[^/]+\.(data|dist-info)/", name):
            continue
        found = re.fullmatch(r"(.*?)(\.py|(\.[^/.]+)*\.(so|pyd))", name)
        if not found:
            continue
        parts = found.group(1).split("/")
        parts[-1] = parts[-1].split(".")[0]
        if parts[-1] == "__init__":
            parts.pop()
        if not parts or not all(part.isidentifier() for part in parts):
            continue
        for depth in range(1, len(parts) + 1):
            modules.add(".".join(parts[:depth]))
    print(json.dumps({"requires": read.requires or [], "modules": sorted(modules), "size": len(body)}), flush=True)
"#;

#[tokio::test]
async fn heavy_real_wheels_are_stored_as_python_reads_them() {
    let long = std::env::var_os("GLEANER_LONG").is_some();
    let projects: &[&str] = if long {
        &[
            "requests",
            "flask",
            "django",
            "numpy",
            "pandas",
            "attrs",
            "setuptools",
            "six",
            "pyyaml",
            "cryptography",
        ]
    } else {
        &["six", "attrs", "Flask"]
    };
    let (most_bytes, most_each) = if long {
        (300_000_000_i64, 8)
    } else {
        (3_000_000, 3)
    };
    let Some(world) = Real::new().await else {
        eprintln!("nothing was compared: pip does not say which index it uses");
        return;
    };
    if let Err(why) = world.read_pages(projects).await {
        eprintln!("nothing was compared: the index that pip is configured with: {why}");
        return;
    }
    let mut chosen: Vec<FileRow> = Vec::new();
    let mut bytes = 0;
    for project in projects {
        let name = scan::python::normalize_name(project);
        let rows = pypi::file_rows(world.engine.db(), &name).await.unwrap();
        let mut wheels: Vec<FileRow> = rows
            .into_iter()
            .filter(|row| row.kind == FileKind::Wheel && row.size.is_some())
            .collect();
        wheels.sort_by(|a, b| compare_versions(&b.version, &a.version));
        let newest = wheels.first().unwrap().version.clone();
        // Of the newest release one, and some of all others: the same ones every time.
        wheels.sort_by_key(|row| {
            let is_newest = row.version == newest;
            (!is_newest, row.sha256.clone())
        });
        let older = wheels.iter().position(|row| row.version != newest);
        let older = older.unwrap_or(wheels.len());
        let most_newest = (most_each / 2).max(1);
        let picked = wheels[..older].iter().take(most_newest);
        for row in picked.chain(&wheels[older..]).take(most_each) {
            let size = row.size.unwrap();
            if bytes + size <= most_bytes {
                bytes += size;
                chosen.push(row.clone());
            }
        }
    }
    world.read_files(&chosen).await;
    let stored = world.stored(&chosen).await;
    let judged = judge(&chosen);
    let mut ratios = Vec::new();
    for (row, truth) in stored.iter().zip(&judged) {
        let list = |key: &str| -> Vec<String> {
            let list = truth[key].as_array().unwrap().iter();
            list.map(|one| one.as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(row.0.extracted, Extracted::Ok, "{}", row.0.filename);
        assert_eq!(row.0.requires_dist, list("requires"), "{}", row.0.filename);
        assert_eq!(row.0.modules, list("modules"), "{}", row.0.filename);
        if let Some(size) = row.0.size.filter(|size| *size > 1 << 20) {
            ratios.push(size as f64 / row.1 as f64);
        }
    }
    ratios.sort_by(f64::total_cmp);
    let median = ratios.get(ratios.len() / 2).copied();
    eprintln!(
        "{} wheels of {} projects, {} MB, are as Python reads them; of {} over 1 MB the median is 1/{:.0} fetched",
        stored.len(),
        projects.len(),
        bytes / 1_000_000,
        ratios.len(),
        median.unwrap_or(f64::NAN)
    );
    assert!(median.is_none_or(|median| median >= 20.0), "{ratios:?}");
    assert!(stored.len() >= projects.len());
}

struct Real {
    engine: Engine,
    http: Http,
    settings: Settings,
    address: IndexAddress,
    _db: TestDb,
}

impl Real {
    async fn new() -> Option<Self> {
        let address = IndexAddress::parse(&pip_index()?).ok()?;
        let db = TestDb::sqlite(PARTS).await;
        let engine = Engine::new((*db).clone(), Clock::system());
        let mut about = http::Settings::new("https://gleaner.example/contact");
        let upstream = UpstreamSettings {
            allow_private: true,
            ..UpstreamSettings::at(address.origin())
        };
        about.upstreams.insert(UPSTREAM.to_owned(), upstream);
        let (pool, clock) = (engine.db().clone(), engine.clock().clone());
        let http = Http::new(&about, pool, clock, engine.upstreams().clone()).unwrap();
        let mut settings = Settings::default();
        settings.address = Some(address.clone());
        Some(Self {
            engine,
            http,
            settings,
            address,
            _db: db,
        })
    }

    fn worker(&self) -> Worker {
        Worker::new(self.engine.clone())
            .pool(Pool::new("pypi", 8))
            .timing(Timing {
                poll: Duration::from_millis(50),
                ..Timing::default()
            })
    }

    /// Reads pages; says why one could not be read.
    async fn read_pages(&self, projects: &[&str]) -> Result<(), String> {
        let names = projects
            .iter()
            .map(|name| scan::python::normalize_name(name));
        let names: Vec<String> = names.collect();
        let units = names.iter().map(|name| project_unit(&self.address, name));
        self.engine.enqueue(units.collect()).await.unwrap();
        let one = Registered::new(PypiProject::new(self.http.clone(), self.settings.clone()));
        let worker = self.worker().boxed_kind(one.kind, one.handler);
        let idle = worker.run_until_idle(CancellationToken::new());
        Box::pin(idle).await.unwrap();
        for name in &names {
            let files = pypi::known_files(self.engine.db(), name).await.unwrap();
            if files.is_empty() {
                return Err(format!("the page of {name} could not be read"));
            }
        }
        Ok(())
    }

    async fn read_files(&self, files: &[FileRow]) {
        let mut units = Vec::new();
        for row in files {
            let name = format!("pypi/file:{}/{}", row.project, row.filename);
            units.extend(self.engine.find(&name).await.unwrap());
        }
        assert_eq!(units.len(), files.len());
        let one = Registered::new(PypiFile::new(self.http.clone(), self.settings.clone()));
        let worker = self.worker().boxed_kind(one.kind, one.handler).only(units);
        let idle = worker.run_until_idle(CancellationToken::new());
        Box::pin(idle).await.unwrap();
    }

    /// The same rows as they are now, with the bytes that were fetched.
    async fn stored(&self, files: &[FileRow]) -> Vec<(FileRow, i64)> {
        let mut by_name = BTreeMap::new();
        for project in files.iter().map(|row| &row.project) {
            for row in pypi::file_rows(self.engine.db(), project).await.unwrap() {
                by_name.insert(row.filename.clone(), row);
            }
        }
        let mut stored = Vec::new();
        for file in files {
            let row = by_name[&file.filename].clone();
            let fetched = db::sql!("SELECT bytes_fetched FROM pypi_files WHERE id = $1", row.id);
            let fetched = self.engine.db().fetch_one(fetched).await.unwrap();
            stored.push((row, fetched.get("bytes_fetched").unwrap()));
        }
        stored
    }
}

/// The index that pip uses, by what it is configured with, else by its own words.
fn pip_index() -> Option<String> {
    if let Ok(url) = std::env::var("PIP_INDEX_URL") {
        return Some(url);
    }
    let pip = |arguments: &[&str]| {
        let done = Command::new("python3")
            .args(["-m", "pip"])
            .args(arguments)
            .output()
            .ok()?;
        Some(String::from_utf8_lossy(&done.stdout).trim().to_owned())
            .filter(|text| !text.is_empty())
    };
    if let Some(url) = pip(&["config", "get", "global.index-url"]) {
        return Some(url);
    }
    let help = pip(&["install", "--help"])?;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, after) = help.split_once("--index-url")?;
    let (_, after) = after.split_once("(default ")?;
    after.split(')').next().map(str::to_owned)
}

fn judge(files: &[FileRow]) -> Vec<Value> {
    use std::io::Write as _;
    let mut python = Command::new("python3")
        .args(["-c", JUDGE])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = python.stdin.take().unwrap();
    for file in files {
        writeln!(stdin, "{}", file.url).unwrap();
    }
    drop(stdin);
    let done = python.wait_with_output().unwrap();
    assert!(done.status.success());
    let text = String::from_utf8(done.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
