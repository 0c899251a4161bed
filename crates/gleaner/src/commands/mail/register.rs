//! `gleaner mail register` and `load-apache`: which lists are followed.

use std::collections::BTreeMap;

use ::db::transact;
use clap::Args;
use collect::{
    http::Reply,
    mail::{self as round, pony_mail, public_inbox},
};
use engine::{Engine, EnqueueError};
use facts::{group::GroupName, mail::Archive};
use store::{
    groups,
    mail::{self, NewList},
};
use url::Url;

use crate::{
    commands::{group, repo},
    error::{Exit, Failure, Result, codes},
    outside,
    session::Session,
};

/// Lists that every project has, by the name before the `@`.
const USUAL: [&str; 2] = ["dev", "users"];

/// Have the archive of a list read, now and from now on
///
/// Lists of apache.org are looked for at lists.apache.org, all others at lore.kernel.org, unless
/// `--base` names another archive.
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner mail register dev@maven.apache.org --repo https://github.com/apache/maven
  gleaner mail register linux-pci@vger.kernel.org --repo https://github.com/torvalds/linux
  gleaner mail register --all --archive public-inbox --base https://inbox.example.org")]
pub(crate) struct RegisterArgs {
    /// The addresses of the lists
    #[arg(required_unless_present = "all", value_name = "ADDRESS")]
    lists: Vec<String>,
    /// Every list that the archive tells of
    #[arg(long, conflicts_with = "lists", requires = "base")]
    all: bool,
    /// What kind of archive it is: pony-mail or public-inbox [default: by the list's address]
    #[arg(long, value_name = "KIND", alias = "backend")]
    archive: Option<Archive>,
    /// The address of the archive
    #[arg(long, value_name = "URL")]
    base: Option<String>,
    /// The name of the list in the archive [default: what stands before the @]
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    inbox: Option<String>,
    /// Whose rules hold: apache, lore, generic, or one of your own [default: by the archive]
    #[arg(long, value_name = "SYSTEM")]
    system: Option<String>,
    /// The repository that the list is about
    #[arg(long, value_name = "REPO")]
    repo: Option<String>,
    /// The group of repositories that the list is about
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
}

/// Register the lists of the projects of the Apache Software Foundation
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner mail load-apache
  gleaner mail load-apache --project maven --project kafka --all-lists")]
pub(crate) struct LoadApacheArgs {
    /// Only these projects: what stands before .apache.org
    #[arg(long, value_name = "NAME")]
    project: Vec<String>,
    /// All lists of a project, not only dev and users
    #[arg(long)]
    all_lists: bool,
    /// The address of the archive
    #[arg(long, value_name = "URL", default_value = "https://lists.apache.org")]
    base: String,
}

/// Whose rules hold for a list of which nothing else is known.
pub(super) fn system_of(address: &str) -> &'static str {
    let domain = address.rsplit('@').next().unwrap_or_default();
    if domain == "apache.org" || domain.ends_with(".apache.org") {
        "apache"
    } else if domain.ends_with("kernel.org") || domain.ends_with("lists.linux.dev") {
        "lore"
    } else {
        "generic"
    }
}

pub(super) async fn run(session: &Session, args: &RegisterArgs) -> Result<Exit> {
    let engine = session.engine().await?;
    let repository = match &args.repo {
        Some(text) => Some(repo::find(engine.db(), text).await?.id),
        None => None,
    };
    let group = match &args.group {
        Some(name) => Some(group_id(&engine, name).await?),
        None => None,
    };
    let addresses = if args.all {
        all_of(session, &engine, args).await?
    } else {
        args.lists.clone()
    };
    let mut new = 0;
    for address in &addresses {
        let mut list = list(args, address)?;
        list.repository = repository;
        list.repo_group = group;
        new += usize::from(register(&engine, &list).await?);
    }
    session.printer.note(&format!(
        "{new} lists registered, {} there already",
        addresses.len() - new
    ));
    Ok(Exit::Ok)
}

pub(super) async fn load_apache(session: &Session, args: &LoadApacheArgs) -> Result<Exit> {
    let engine = session.engine().await?;
    let outside = outside::outside(&engine, session.settings()?)?;
    let upstream = host(&args.base)?;
    let found = pony_mail::lists(&outside.http.for_person(), &upstream).await;
    let lists = answered(found, &args.base)?;
    let mut by_project: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for address in lists {
        let Some((name, domain)) = address.split_once('@') else {
            continue;
        };
        let Some(project) = domain.strip_suffix(".apache.org") else {
            continue;
        };
        let wanted = args.project.is_empty() || args.project.iter().any(|one| one == project);
        if wanted && (args.all_lists || USUAL.contains(&name) || name == "user") {
            by_project
                .entry(project.to_owned())
                .or_default()
                .push(address.clone());
        }
    }
    let (mut new, mut all) = (0, 0);
    for (project, addresses) in &by_project {
        let group = group_id(&engine, &format!("apache-{project}")).await?;
        for address in addresses {
            let list = NewList {
                archive: Archive::PonyMail,
                system: "apache".to_owned(),
                address: address.clone(),
                base: Some(args.base.trim_end_matches('/').to_owned()),
                inbox: None,
                description: None,
                repo_group: Some(group),
                repository: None,
            };
            all += 1;
            new += usize::from(register(&engine, &list).await?);
        }
    }
    if all == 0 {
        let message = "the archive tells of no such lists";
        return Err(Failure::new(&codes::NOT_FOUND, message));
    }
    session.printer.note(&format!(
        "{new} lists of {} projects registered, {} there already",
        by_project.len(),
        all - new
    ));
    Ok(Exit::Ok)
}

fn list(args: &RegisterArgs, address: &str) -> Result<NewList> {
    let address = address.trim().to_lowercase();
    let sound = address.split_once('@').is_some_and(|(name, domain)| {
        !name.is_empty() && !domain.is_empty() && !domain.contains('@')
    });
    if !sound || address.contains(char::is_whitespace) {
        let message = format!("`{address}` is no address of a list");
        return Err(Failure::new(&codes::NAME, message).hint("it looks like dev@example.org"));
    }
    let archive = args.archive.unwrap_or(if system_of(&address) == "apache" {
        Archive::PonyMail
    } else {
        Archive::PublicInbox
    });
    if archive == Archive::Import {
        let message = "nothing is fetched from files";
        return Err(Failure::new(&codes::NAME, message).hint("`gleaner mail import` takes files"));
    }
    let usual = match archive {
        Archive::PonyMail => "https://lists.apache.org",
        _ => "https://lore.kernel.org",
    };
    let base = args.base.as_deref().unwrap_or(usual).trim_end_matches('/');
    host(base)?;
    Ok(NewList {
        archive,
        system: args
            .system
            .clone()
            .unwrap_or_else(|| archive.usual_system().to_owned()),
        address,
        base: Some(base.to_owned()),
        inbox: args.inbox.clone(),
        description: None,
        repo_group: None,
        repository: None,
    })
}

async fn all_of(session: &Session, engine: &Engine, args: &RegisterArgs) -> Result<Vec<String>> {
    let outside = outside::outside(engine, session.settings()?)?;
    let base = args.base.as_deref().unwrap_or_default();
    let upstream = host(base)?;
    let http = outside.http.for_person();
    if args.archive == Some(Archive::PonyMail) {
        return answered(pony_mail::lists(&http, &upstream).await, base);
    }
    let names = answered(public_inbox::inboxes(&http, &upstream).await, base)?;
    Ok(names
        .into_iter()
        .map(|name| format!("{name}@{upstream}"))
        .collect())
}

fn answered<T>(reply: Reply<T>, base: &str) -> Result<T> {
    match reply {
        Reply::Found(found) => Ok(found),
        Reply::Absent => Err(Failure::new(
            &codes::NOT_FOUND,
            format!("{base} does not tell which lists it has"),
        )
        .hint("register them one by one: `gleaner mail register ADDRESS`")),
        Reply::Unknown(why) => Err(Failure::new(
            &codes::UPSTREAM,
            format!("{base} could not be asked which lists it has"),
        )
        .caused_by(&*why)
        .hint("register them one by one: `gleaner mail register ADDRESS`")),
    }
}

fn host(base: &str) -> Result<String> {
    let url = Url::parse(base).ok();
    let host = url.as_ref().and_then(Url::host_str).map(str::to_owned);
    host.ok_or_else(|| {
        Failure::new(
            &codes::NAME,
            format!("`{base}` is no address of an archive"),
        )
        .hint("it looks like https://lists.example.org")
    })
}

async fn group_id(engine: &Engine, name: &str) -> Result<i64> {
    let name: GroupName = group::parse_name(name)?;
    let (name, now) = (&name, engine.clock().now());
    let made: Result<i64, ::db::DbError> =
        transact!(engine.db(), |tx| Ok(groups::create(tx, name, now)
            .await?
            .id()));
    Ok(made?)
}

/// Registers a list of Pony Mail that is about no repository.
pub(crate) async fn register_pony_mail(engine: &Engine, address: &str, base: &str) -> Result<bool> {
    let list = NewList {
        archive: Archive::PonyMail,
        system: Archive::PonyMail.usual_system().to_owned(),
        address: address.to_owned(),
        base: Some(base.to_owned()),
        inbox: None,
        description: None,
        repo_group: None,
        repository: None,
    };
    register(engine, &list).await
}

/// Registers a list with its work; tells whether it is new.
async fn register(engine: &Engine, list: &NewList) -> Result<bool> {
    let now = engine.clock().now();
    let registered: Result<bool, EnqueueError> = transact!(engine.db(), |tx| {
        let registered = mail::register(tx, list, now).await?;
        let unit = round::fetch_unit(registered.id, list.archive, list.base.as_deref());
        engine::enqueue_in(tx, unit.as_slice(), now).await?;
        Ok(registered.fresh)
    });
    Ok(registered?)
}
