//! `gleaner repo load-foundation`: the repositories of a foundation's projects.

use std::{collections::BTreeSet, path::PathBuf};

use clap::Args;
use collect::{foundation, http::Reply, organisation::OwnerAddress};
use facts::repository::RepositoryUrl;
use scan::foundation::{Project, projects};
use store::group_sources::Wanted;
use url::Url;

use super::{add_batch, find};
use crate::{
    commands::group,
    error::{Exit, Failure, Result, codes},
    outside,
    session::Session,
};

/// Watch the repositories of a foundation's projects
///
/// Of each project the repository that it is named after is added, to the group `apache-PROJECT`:
/// the one that `gleaner mail load-apache` registers the lists of the project for. With
/// `--organisations` the owners on the forges are followed as well, so that all of their
/// repositories come, those to come included.
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner repo load-foundation --project kafka --project maven
  gleaner repo load-foundation projects.json doap_Kafka.rdf --organisations")]
pub(crate) struct FoundationArgs {
    /// Lists of projects: the foundation's JSON, or DOAP files [default: ask the foundation]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The address of the foundation's list, when no file is given
    #[arg(
        long,
        value_name = "URL",
        default_value = "https://projects.apache.org"
    )]
    base: String,
    /// Only these projects, by their id or their committee
    #[arg(long, value_name = "NAME")]
    project: Vec<String>,
    /// All repositories of the projects, not only the one each is named after
    #[arg(long)]
    all: bool,
    /// Also follow the owners of the repositories on their forges
    #[arg(long, alias = "orgs")]
    organisations: bool,
    /// What the names of the groups begin with
    #[arg(long, value_name = "TEXT", default_value = "apache-")]
    prefix: String,
}

pub(super) async fn run(session: &Session, args: &FoundationArgs) -> Result<Exit> {
    let engine = session.engine().await?;
    let settings = session.settings()?;
    let mut found: Vec<Project> = Vec::new();
    for file in &args.files {
        let text = std::fs::read(file).map_err(|error| Failure::unreadable(file, &error))?;
        found.extend(read(&text, &file.display().to_string())?);
    }
    if args.files.is_empty() {
        let outside = outside::outside(&engine, settings)?;
        let host = host(&args.base)?;
        let text = match foundation::projects(&outside.http.for_person(), &host).await {
            Reply::Found(text) => text,
            Reply::Absent => {
                let message = format!("{} does not tell which projects it has", args.base);
                return Err(Failure::new(&codes::NOT_FOUND, message)
                    .hint("name a file: `gleaner repo load-foundation FILE`"));
            }
            Reply::Unknown(why) => {
                let message = format!("{} could not be asked for its projects", args.base);
                return Err(Failure::new(&codes::UPSTREAM, message)
                    .caused_by(&*why)
                    .hint("name a file: `gleaner repo load-foundation FILE`"));
            }
        };
        found = read(&text, &args.base)?;
    }
    found.retain(|project| {
        let is = |name: &String| *name == project.id || Some(name) == project.committee.as_ref();
        args.project.is_empty() || args.project.iter().any(is)
    });
    if found.is_empty() {
        let message = "there is no such project";
        return Err(Failure::new(&codes::NOT_FOUND, message));
    }
    let (mut new, mut there, mut without) = (0, 0, 0);
    let mut owners: BTreeSet<String> = BTreeSet::new();
    for project in &found {
        let addresses = addresses(project, args.all)?;
        if addresses.is_empty() {
            without += 1;
            continue;
        }
        owners.extend(
            addresses
                .iter()
                .map(|url| format!("https://{}/{}", url.host(), url.owner())),
        );
        let committee = project.committee.as_ref().unwrap_or(&project.id);
        let group = group::parse_name(&format!("{}{committee}", args.prefix))?;
        for addition in add_batch(&engine, &addresses, Some(&group), settings).await? {
            if addition.added {
                new += 1;
            } else {
                there += 1;
            }
        }
    }
    session.printer.note(&format!(
        "{new} repositories of {} projects added, {there} there already; {without} projects have none on a forge",
        found.len() - without
    ));
    if args.organisations {
        let group = group::parse_name(&format!("{}all", args.prefix))?;
        let wanted = Wanted {
            forks: true,
            archived: true,
        };
        for owner in &owners {
            let owner: OwnerAddress = group::parse_owner(owner)?;
            group::attach(&engine, &group, &owner, wanted).await?;
            session.printer.note(&format!(
                "the group {} follows {} on {}",
                group.as_str(),
                owner.shown(),
                owner.host
            ));
        }
    }
    Ok(Exit::Ok)
}

fn read(text: &[u8], place: &str) -> Result<Vec<Project>> {
    projects(text).map_err(|error| {
        Failure::new(&codes::NAME, format!("{place} is no list of projects"))
            .caused_by(&error)
            .hint("it is the foundation's projects.json, or DOAP in RDF")
    })
}

fn addresses(project: &Project, all: bool) -> Result<Vec<RepositoryUrl>> {
    let chosen: Vec<&str> = if all {
        project.repositories.iter().map(String::as_str).collect()
    } else {
        project.core().into_iter().collect()
    };
    chosen.into_iter().map(find::address).collect()
}

fn host(base: &str) -> Result<String> {
    let url = Url::parse(base).ok();
    let host = url.as_ref().and_then(Url::host_str).map(str::to_owned);
    host.ok_or_else(|| {
        Failure::new(&codes::NAME, format!("`{base}` is no address"))
            .hint("it looks like https://projects.example.org")
    })
}
