//! A Python package index: the Simple API in JSON and HTML, the JSON API, the changelog, the files.
//!
//! Kept: names are normalised by a redirect; pages carry `X-PyPI-Last-Serial`, an entity tag and
//! `_last-serial`; the root lists serials of projects, and leaves out those in quarantine, which
//! keep their page and lose their files; the removal of a project or a release writes one line and
//! none for its files; a line may commit later than lines with higher serials; one answer of the
//! changelog holds at most so many lines; caches give old pages; metadata of wheels lie beside them;
//! files are given in parts. What an index does not offer can be switched off ([`Offers`]).

mod answers;
mod archives;
mod changelog;
mod stock;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::{Router, routing::get};

pub use self::archives::{Contents, tar_gz, zip};
use self::stock::{Form, Stock, normal};
use crate::{
    dice::Dice,
    upstream::{Site, Upstream},
};

/// The double. Clones share what is in it.
#[derive(Clone, Debug)]
pub struct PythonIndex {
    name: String,
    stock: Arc<Mutex<Stock>>,
}

/// What an index offers. Public ones offer all of it, others less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offers {
    /// Pages in JSON; else all are HTML.
    pub json: bool,
    /// The changelog.
    pub changelog: bool,
    /// At most so many lines of it in one answer.
    pub changelog_lines: usize,
    /// Serials of projects in the root.
    pub root_serials: bool,
    /// Serials on pages, in their headers and in what they say.
    pub serials: bool,
    /// Entity tags.
    pub tags: bool,
    /// Parts of files.
    pub ranges: bool,
    /// Metadata beside wheels.
    pub metadata: bool,
}

impl Default for Offers {
    fn default() -> Self {
        Self {
            json: true,
            changelog: true,
            changelog_lines: 50_000,
            root_serials: true,
            serials: true,
            tags: true,
            ranges: true,
            metadata: true,
        }
    }
}

/// A file as it truly is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IndexedFile {
    /// The project, normalised.
    pub project: String,
    /// The file's name.
    pub filename: String,
    /// Of its bytes, in hexadecimal.
    pub sha256: String,
    /// Why it is yanked; empty without a reason.
    pub yanked: Option<String>,
    /// The index withholds it.
    pub quarantined: bool,
    /// As its metadata have them; none for what a test made itself.
    pub requires: Option<Vec<String>>,
    /// All that can be imported from it.
    pub modules: Option<Vec<String>>,
}

impl PythonIndex {
    /// An empty one.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            stock: Arc::default(),
        }
    }

    /// With so many projects of one to four files each.
    pub fn filled(self, seed: u64, projects: usize) -> Self {
        let mut dice = Dice(seed);
        let mut stock = self.stock();
        for number in 0..projects {
            let word = dice.pick(&["amber", "birch", "Cedar", "dune", "ember", "fern"]);
            let joint = dice.pick(&["-", "_", "."]);
            let name = format!("{word}{joint}{number}");
            for release in 0..=dice.below(2) {
                let version = format!("{}.{release}", 1 + dice.below(4));
                stock.wheel(&name, &version, "py3-none-any");
                match dice.below(6) {
                    0 => stock.egg(&name, &version),
                    1 | 2 => stock.sdist(&name, &version),
                    _ => {}
                }
            }
        }
        drop(stock);
        self
    }

    /// With so many projects that have no files.
    pub fn bare(self, projects: usize) -> Self {
        let mut stock = self.stock();
        for number in 0..projects {
            stock.project(&format!("bare-{number}"));
        }
        let serial = stock.serial;
        for project in stock.projects.values_mut() {
            project.serial = serial;
        }
        drop(stock);
        self
    }

    /// Offers this much.
    pub fn offering(self, offers: Offers) -> Self {
        self.stock().offers = offers;
        self
    }

    /// So many changes, as chance has them.
    pub fn change(&self, seed: u64, count: usize) {
        let mut dice = Dice(seed);
        let mut stock = self.stock();
        for _ in 0..count {
            if dice.below(10) == 0 {
                stock.make_late = 1;
            }
            stock.change(&mut dice);
        }
    }

    /// The next so many lines of the changelog are seen after three others.
    pub fn late(&self, lines: u32) {
        self.stock().make_late = lines;
    }

    /// All lines can be seen.
    pub fn settle(&self) {
        self.stock().settle();
    }

    /// Puts a generated wheel up, with tags such as `py3-none-any`.
    pub fn wheel(&self, project: &str, version: &str, tags: &str) {
        self.stock().wheel(project, version, tags);
    }

    /// Puts a generated egg up.
    pub fn egg(&self, project: &str, version: &str) {
        self.stock().egg(project, version);
    }

    /// Puts a generated source distribution up.
    pub fn sdist(&self, project: &str, version: &str) {
        self.stock().sdist(project, version);
    }

    /// Puts a wheel with these contents up.
    pub fn wheel_of(&self, contents: Contents, tags: &str) {
        let name = contents.name.replace(['-', '.'], "_");
        let filename = format!("{name}-{}-{tags}.whl", contents.version);
        let (project, version) = (contents.name.clone(), contents.version.clone());
        let form = Form::Wheel(Box::new(contents));
        self.stock().upload(&project, &filename, &version, form);
    }

    /// Puts up whatever this is.
    pub fn file(&self, project: &str, version: &str, filename: &str, bytes: Vec<u8>) {
        let form = Form::Given(bytes);
        self.stock().upload(project, filename, version, form);
    }

    /// Takes a file away.
    pub fn remove_file(&self, project: &str, filename: &str) {
        self.stock().remove_file(project, filename);
    }

    /// Takes a project away, with one line in the changelog.
    pub fn remove_project(&self, project: &str) {
        self.stock().remove_project(project);
    }

    /// Yanks a version for a reason, or takes that back.
    pub fn yank(&self, project: &str, version: &str, reason: Option<&str>) {
        self.stock().yank(project, version, reason);
    }

    /// `active`, `archived`, `quarantined` or `deprecated`.
    pub fn set_status(&self, project: &str, status: &str) {
        self.stock().set_status(project, status);
    }

    /// The next so many times the page of a project is given as it is now, whatever happens.
    pub fn stale(&self, project: &str, times: u32) {
        let mut stock = self.stock();
        let project = stock.project(project);
        let mut now = project.clone();
        now.stale = None;
        project.stale = Some((Box::new(now), times));
    }

    /// The newest serial.
    pub fn serial(&self) -> u64 {
        self.stock().serial
    }

    /// The names of all projects, normalised.
    pub fn projects(&self) -> Vec<String> {
        self.stock().projects.keys().cloned().collect()
    }

    /// All files, as they truly are, sorted.
    pub fn truth(&self) -> Vec<IndexedFile> {
        let stock = self.stock();
        let mut files = Vec::new();
        for (name, project) in &stock.projects {
            for (filename, file) in &project.files {
                let contents = file.form.contents();
                files.push(IndexedFile {
                    project: name.clone(),
                    filename: filename.clone(),
                    sha256: file.sha256.clone(),
                    yanked: file.yanked.clone(),
                    quarantined: project.status == "quarantined",
                    requires: contents.map(|one| match &file.form {
                        // Eggs hold only what needs no marker.
                        Form::Egg(_) => {
                            let plain = one.requires.iter().filter(|one| !one.contains(';'));
                            plain.cloned().collect()
                        }
                        _ => one.requires.clone(),
                    }),
                    modules: contents.map(Contents::importable),
                });
            }
        }
        files.sort();
        files
    }

    fn stock(&self) -> MutexGuard<'_, Stock> {
        self.stock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Upstream for PythonIndex {
    fn name(&self) -> &str {
        &self.name
    }

    fn routes(&self, site: Arc<Site>) -> Router {
        let desk = Arc::new(Desk {
            host_url: site.host_url.clone(),
            index: self.clone(),
        });
        Router::new()
            .route("/simple", get(answers::root))
            .route("/simple/", get(answers::root))
            .route("/simple/{name}/", get(answers::project))
            .route("/pypi/{name}/json", get(answers::json))
            .route("/pypi", axum::routing::post(changelog::call))
            .route("/pypi/", axum::routing::post(changelog::call))
            .route("/packages/{project}/{filename}", get(answers::file))
            .with_state(desk)
    }
}

#[derive(Debug)]
struct Desk {
    host_url: String,
    index: PythonIndex,
}

type At = axum::extract::State<Arc<Desk>>;
