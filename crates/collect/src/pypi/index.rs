//! Asking an index: the list of projects, the page of one, the changelog.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use scan::python::{
    changelog::{ChangelogAnswer, ChangelogLine},
    simple::{ProjectPage, RootPage},
};

use super::address::IndexAddress;
use crate::http::{Ask, Class, Expect, Reply, Response, Session, Unknown};

const FORMS: &str = "application/vnd.pypi.simple.v1+json, \
    application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1";
/// The largest root known is a sixth of this.
const MOST_ROOT: u64 = 256 << 20;
/// The page of a project with a hundred thousand files.
const MOST_PAGE: u64 = 64 << 20;

/// How pages are to be asked for, as one process has found out.
#[derive(Clone, Debug, Default)]
pub(super) struct Manner(Arc<AtomicU8>);

/// Nobody has tried yet.
const UNTRIED: u8 = 0;
/// As anybody would ask.
const PLAIN: u8 = 1;
/// With a range over all of it: some servers hand out what they keep for others, and look at what
/// is really asked for only when they are asked for a part.
const RANGED: u8 = 2;

/// The index, in the hands of one run.
#[derive(Debug)]
pub(super) struct Index<'r> {
    pub(super) session: &'r Session,
    pub(super) address: &'r IndexAddress,
    pub(super) manner: &'r Manner,
}

/// A page with what came around it.
pub(super) struct Page<T> {
    pub(super) value: T,
    /// The index's counter of changes, as of this page.
    pub(super) serial: Option<i64>,
    pub(super) body: Vec<u8>,
}

/// What the index says about its changelog.
pub(super) enum Changelog<T> {
    Told(T),
    /// It has none.
    NotOffered,
}

type Asked<T> = Result<T, Box<Unknown>>;

impl Index<'_> {
    /// The list of all projects.
    pub(super) async fn root(&self) -> Asked<Page<RootPage>> {
        let path = self.address.root();
        let Some(response) = self.page_at(&path, MOST_ROOT).await? else {
            let message = format!("there is no list of projects at {path}");
            return Err(Box::new(Unknown::contradiction(message)));
        };
        let parsed =
            RootPage::parse(&response.body).map_err(|fault| Box::new(odd(&path, &fault)))?;
        let serial = serial(&response).or(parsed.last_serial.and_then(number));
        Ok(Page {
            value: parsed,
            serial,
            body: Vec::new(),
        })
    }

    /// The page of a project; none if there is no such project.
    pub(super) async fn project(&self, name: &str) -> Asked<Option<Page<ProjectPage>>> {
        let path = self.address.page(name);
        let Some(response) = self.page_at(&path, MOST_PAGE).await? else {
            return Ok(None);
        };
        let parsed =
            ProjectPage::parse(&response.body).map_err(|fault| Box::new(odd(&path, &fault)))?;
        let serial = serial(&response).or(parsed.last_serial.and_then(number));
        Ok(Some(Page {
            value: parsed,
            serial,
            body: response.body,
        }))
    }

    /// The newest serial, where there is a changelog.
    pub(super) async fn last_serial(&self) -> Asked<Changelog<i64>> {
        Ok(match self.call("changelog_last_serial", None).await? {
            Changelog::Told(ChangelogAnswer::Serial(serial)) => {
                Changelog::Told(number(serial).unwrap_or_default())
            }
            _ => Changelog::NotOffered,
        })
    }

    /// What happened after a serial, as much of it as one answer holds.
    pub(super) async fn since(&self, serial: i64) -> Asked<Changelog<Vec<ChangelogLine>>> {
        let answer = self.call("changelog_since_serial", Some(serial)).await?;
        Ok(match answer {
            Changelog::Told(ChangelogAnswer::Lines(lines)) => Changelog::Told(lines),
            _ => Changelog::NotOffered,
        })
    }

    async fn call(&self, method: &str, number: Option<i64>) -> Asked<Changelog<ChangelogAnswer>> {
        let Some(path) = self.address.changelog() else {
            return Ok(Changelog::NotOffered);
        };
        let params = number.map_or_else(String::new, |number| {
            format!("<param><value><int>{number}</int></value></param>")
        });
        let body = format!(
            "<?xml version='1.0'?>\n<methodCall><methodName>{method}</methodName>\
             <params>{params}</params></methodCall>\n"
        );
        let ask = Ask::call_xml(self.address.upstream(), &path, body)
            .max_bytes(MOST_PAGE)
            .patience(Duration::from_mins(5));
        let response = match self.session.ask(&ask).await {
            Reply::Found(response) => response,
            // There is nothing, or nobody who takes questions of this sort.
            Reply::Absent => return Ok(Changelog::NotOffered),
            Reply::Unknown(why)
                if matches!(why.class, Class::Rejected | Class::Wall | Class::Redirect)
                    || (why.class == Class::Refused && why.status != Some(401)) =>
            {
                return Ok(Changelog::NotOffered);
            }
            Reply::Unknown(why) => return Err(why),
        };
        match ChangelogAnswer::parse(&response.body) {
            Ok(ChangelogAnswer::Fault { text, .. }) if text.contains("TooManyRequests") => {
                let message = format!("{path}: the changelog is asked too often");
                Err(Box::new(Unknown::contradiction(message)))
            }
            Ok(ChangelogAnswer::Fault { .. }) | Err(_) => Ok(Changelog::NotOffered),
            Ok(answer) => Ok(Changelog::Told(answer)),
        }
    }

    async fn page_at(&self, path: &str, most: u64) -> Asked<Option<Response>> {
        let manner = self.manner.0.load(Ordering::Relaxed);
        if manner == RANGED {
            return self.ask(path, most, true).await;
        }
        let plain = self.ask(path, most, false).await?;
        let Some(response) = &plain else {
            return Ok(None);
        };
        let is_json = response.body.trim_ascii_start().first() == Some(&b'{');
        if is_json || manner == PLAIN {
            self.manner.0.store(PLAIN, Ordering::Relaxed);
            return Ok(plain);
        }
        debug_assert_eq!(manner, UNTRIED, "there are three manners");
        let ranged = self.ask(path, most, true).await;
        let better = ranged.ok().flatten().filter(|response| {
            response.status == 200 && response.body.trim_ascii_start().first() == Some(&b'{')
        });
        let found = if better.is_some() { RANGED } else { PLAIN };
        self.manner.0.store(found, Ordering::Relaxed);
        Ok(better.or(plain))
    }

    async fn ask(&self, path: &str, most: u64, ranged: bool) -> Asked<Option<Response>> {
        let ask = Ask::get(self.address.upstream(), path)
            .expect(Expect::Any)
            .accept(FORMS)
            .max_bytes(most)
            .patience(Duration::from_mins(5));
        let ask = if ranged { ask.range(0, most - 1) } else { ask };
        self.session.ask(&ask).await.known()
    }
}

fn serial(response: &Response) -> Option<i64> {
    response.header("x-pypi-last-serial")?.trim().parse().ok()
}

fn number(serial: u64) -> Option<i64> {
    i64::try_from(serial).ok()
}

fn odd(path: &str, fault: &scan::python::simple::PageFault) -> Unknown {
    Unknown::contradiction(format!("{path}: {fault}"))
}
