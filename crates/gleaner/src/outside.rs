//! Wiring: the way to the outside, with the addresses and tokens of the configuration.

use std::{collections::BTreeMap, path::Path};

use collect::{
    http::{self, Http, Token, UpstreamSettings},
    registry::Outside,
};
use engine::Engine;

pub(crate) mod python_index;

use crate::{
    config::{self, Settings, Upstream},
    error::{Failure, Result, codes},
};

/// Before the name of an upstream, in the environment.
const TOKEN: &str = "GLEANER_TOKEN_";
/// Whom the owner of a server can write to.
const CONTACT: &str = "GLEANER_CONTACT";

/// What collectors need to reach the outside.
pub(crate) fn outside(engine: &Engine, settings: &Settings) -> Result<Outside> {
    with_environment(engine, settings, &config::environment())
}

/// Likewise, with nothing else of the environment: the demo has no use for anybody's tokens.
pub(crate) fn with_environment(
    engine: &Engine,
    settings: &Settings,
    environment: &[(String, String)],
) -> Result<Outside> {
    let mut about = about(settings, environment)?;
    let pypi = python_index::settings(settings, environment, &mut about)?;
    Ok(Outside {
        http: client(engine, &about)?,
        distribution: distribution(settings),
        goindex: goindex(settings, &about),
        license: collect::license::Desk::new(license(settings, &about)?),
        mail: mail(settings, &about)?,
        issues_of_all: settings.issues_of_all && crate::rounds::is_on(settings, "forge-activity"),
        desk: crate::objects::desk(settings)?,
        pypi,
    })
}

/// How git servers are asked: where they are and with which token, as all upstreams.
fn goindex(settings: &Settings, about: &http::Settings) -> collect::goindex::Settings {
    let git = collect::git::remote::Settings::new(&settings.fetched, about.user_agent());
    let mut index = collect::goindex::Settings::new(git).among(&about.upstreams);
    index.check_vanity = settings.goindex.check_vanity_paths;
    index
}

/// Who scans licenses and how.
pub(crate) fn license(
    settings: &Settings,
    about: &http::Settings,
) -> Result<collect::license::Settings> {
    use collect::license::Choice;

    let set = &settings.license;
    let refused = |key: &str, value: &str, words: &str| {
        let message = format!("`{value}` is no value of `{key}` under `[license]`");
        Failure::new(&codes::CONFIG_VALUE, message).hint(format!("it may be {words}"))
    };
    let mut license =
        collect::license::Settings::new(goindex(settings, about), &settings.license.home);
    license.scanner = Choice::from_word(&set.scanner).ok_or_else(|| {
        refused(
            "scanner",
            &set.scanner,
            "auto, builtin, scancode or provenant",
        )
    })?;
    license.whole_tree = match set.mode.as_str() {
        "files" => false,
        "whole-tree" => true,
        other => return Err(refused("mode", other, "files or whole-tree")),
    };
    let round = settings.rounds.get("license");
    license.enabled = round.is_none_or(|round| round.enabled);
    license.processes = set.processes as usize;
    license.file_timeout = set.file_timeout;
    license.memory_bytes = set.memory;
    license.max_file_bytes = usize::try_from(set.max_file_size).unwrap_or(usize::MAX);
    license.servers.git.limits.reading.blob_bytes = license.max_file_bytes;
    license.min_free_bytes = set.min_free;
    license.cross_check_one_in = set.cross_check_one_in;
    Ok(license)
}

/// What is set about mail, the rules of the user's own among it.
fn mail(settings: &Settings, about: &http::Settings) -> Result<collect::mail::Settings> {
    let set = &settings.mail;
    let user_agent = match &set.polite_address {
        Some(address) => format!("{} mailto:{address}", about.user_agent()),
        None => about.user_agent(),
    };
    let objects = settings.fetched.join("mail");
    let git = collect::git::remote::Settings::new(&objects, user_agent);
    let mut mail = collect::mail::Settings::new(objects.join("spool"), git);
    mail.mirror_handling = set.mirror_handling;
    mail.backfill_months = set.backfill_months;
    mail.sender_search_after = set.sender_search_after;
    mail.ask_for_issues = crate::rounds::is_on(settings, "forge-activity");
    for file in &set.rules {
        let text =
            std::fs::read_to_string(file).map_err(|error| Failure::unreadable(file, &error))?;
        let system = file.file_stem().unwrap_or_default().to_string_lossy();
        mail.rules.insert(system.into_owned(), text);
    }
    Ok(mail)
}

/// What is set about asking where repositories are published.
fn distribution(settings: &Settings) -> collect::distribution::Settings {
    let (set, usual) = (
        &settings.distribution,
        collect::distribution::Settings::default(),
    );
    let round = settings.rounds.get("distribution");
    collect::distribution::Settings {
        enabled: round.is_none_or(|round| round.enabled),
        cross_check: set.cross_check,
        polite_address: set.polite_address.clone(),
        user_agent: set.user_agent.clone(),
        cadence: round
            .and_then(|round| round.cadence)
            .unwrap_or(usual.cadence),
    }
}

/// What the client is told about itself and about upstreams.
pub(crate) fn about(
    settings: &Settings,
    environment: &[(String, String)],
) -> Result<http::Settings> {
    let contact = environment.iter().find(|(name, _)| name == CONTACT);
    let contact = contact.map_or("no contact given", |(_, contact)| contact.as_str());
    let mut about = http::Settings::new(contact);
    env!("CARGO_PKG_VERSION").clone_into(&mut about.version);
    about.upstreams = upstreams(settings, environment)?;
    // Whoever comes back later than usual must still find what was kept for that.
    let cadences = settings.rounds.values().filter_map(|round| round.cadence);
    Ok(cadences.fold(about, http::Settings::asked_every))
}

/// The client, with what it keeps in the engine's database.
pub(crate) fn client(engine: &Engine, about: &http::Settings) -> Result<Http> {
    let (db, clock) = (engine.db().clone(), engine.clock().clone());
    let http = Http::new(about, db, clock, engine.upstreams().clone());
    http.map_err(|error| {
        Failure::new(&codes::CONFIG_VALUE, error.to_string())
            .hint(format!("look at `[upstream]`, {CONTACT} and {TOKEN}…"))
    })
}

/// Those that are configured, and those that there is a token for.
fn upstreams(
    settings: &Settings,
    environment: &[(String, String)],
) -> Result<BTreeMap<String, UpstreamSettings>> {
    let mut known = BTreeMap::new();
    for (name, set) in &settings.upstreams {
        known.insert(name.clone(), configured(name, set)?);
    }
    for (variable, secrets) in environment {
        let Some(word) = variable.strip_prefix(TOKEN) else {
            continue;
        };
        let fits = |name: &&String| word_of(name) == word;
        // A name that is not configured is a host, and most have no hyphen.
        let name = settings.upstreams.keys().find(fits).cloned();
        let name = name.unwrap_or_else(|| word.to_lowercase().replace('_', "."));
        let upstream = known
            .entry(name.clone())
            .or_insert_with(|| UpstreamSettings::named(&name));
        let secrets = secrets.split(',').map(str::trim);
        for secret in secrets.filter(|secret| !secret.is_empty()) {
            let number = upstream.tokens.len() + 1;
            upstream
                .tokens
                .push(Token::new(format!("{name} {number}"), secret));
        }
    }
    Ok(known)
}

fn configured(name: &str, set: &Upstream) -> Result<UpstreamSettings> {
    let mut upstream = UpstreamSettings::named(name);
    if let Some(base) = &set.base_url {
        upstream.base = root(base, &upstream.base).to_owned();
        // Whoever names an address wants it asked, wherever it lies, and as fast as it answers: the
        // pace is that of the public service.
        upstream.allow_private = true;
        upstream.gap = std::time::Duration::ZERO;
    }
    for path in &set.token_files {
        let secret = secret(path, &format!("[upstream.\"{name}\"]"))?;
        let number = upstream.tokens.len() + 1;
        upstream
            .tokens
            .push(Token::new(format!("{name} {number}"), &secret));
    }
    Ok(upstream)
}

/// A secret that stands in a file, which is named in a section of the configuration.
pub(crate) fn secret(path: &Path, section: &str) -> Result<String> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        let message = format!("cannot read the secret in `{}`", path.display());
        Failure::new(&codes::CONFIG_VALUE, message)
            .caused_by(&error)
            .hint(format!("the file is named under `{section}`"))
    })?;
    Ok(text.trim().to_owned())
}

/// Forge clients know where the API begins on its host; many write it into the address. Other
/// services have it in their usual address, and then it belongs there.
fn root<'a>(base: &'a str, usual: &str) -> &'a str {
    let base = base.trim_end_matches('/');
    let roots = ["/api/v1", "/api/v3", "/api/v4"].into_iter();
    roots
        .filter(|root| !usual.ends_with(root))
        .find_map(|root| base.strip_suffix(root))
        .unwrap_or(base)
}

/// `github.com` is `GITHUB_COM` in the environment.
fn word_of(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    name.to_uppercase().chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Overrides};

    fn settings(text: &str) -> Settings {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("gleaner.toml");
        std::fs::write(&file, text).unwrap();
        let overrides = Overrides {
            file: Some(file),
            flags: Vec::new(),
            environment: Vec::new(),
        };
        Config::load(&overrides).unwrap().settings()
    }

    #[test]
    fn tokens_and_addresses_find_their_upstream() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("token");
        std::fs::write(&file, "from-file\n").unwrap();
        let text = format!(
            "[upstream.\"git-lab.example.org\"]\nbase_url = \"https://127.0.0.1:8443/api/v4\"\n\
             [upstream.\"github.com\"]\ntoken_files = [\"{}\"]\n",
            file.display()
        );
        let environment = [
            ("GLEANER_TOKEN_GITHUB_COM", "one, two,"),
            ("GLEANER_TOKEN_GIT_LAB_EXAMPLE_ORG", "three"),
            ("GLEANER_TOKEN_CODEBERG_ORG", "four"),
            ("GLEANER_DATA", "/nowhere"),
        ];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let known = upstreams(&settings(&text), &environment).unwrap();
        let tokens = |name: &str| known[name].tokens.len();
        assert_eq!(known.len(), 3);
        assert_eq!((tokens("github.com"), tokens("codeberg.org")), (3, 1));
        assert_eq!(known["github.com"].base, "https://api.github.com");
        let own = &known["git-lab.example.org"];
        assert_eq!(
            (own.base.as_str(), own.tokens.len()),
            ("https://127.0.0.1:8443", 1)
        );
        assert!(own.allow_private && !known["github.com"].allow_private);
        let shown = format!("{known:?}");
        for secret in ["from-file", "one", "three", "four"] {
            assert!(!shown.contains(&format!("\"{secret}\"")), "{shown}");
        }
    }

    #[test]
    fn the_root_of_an_api_is_left_to_its_client() {
        let text = "[upstream.\"codeberg.org\"]\nbase_url = \"http://127.0.0.1:1/codeberg.org/api/v1\"\n\
             [upstream.\"ecosyste.ms\"]\nbase_url = \"https://mirror.example.org/api/v1/\"\n";
        let known = upstreams(&settings(text), &[]).unwrap();
        assert_eq!(
            known["codeberg.org"].base,
            "http://127.0.0.1:1/codeberg.org"
        );
        assert_eq!(
            known["ecosyste.ms"].base,
            "https://mirror.example.org/api/v1"
        );
    }

    #[test]
    fn answers_are_kept_for_longer_than_any_cadence() {
        let about = |text: &str| super::about(&settings(text), &[]).unwrap().cache.unused_for;
        let days = |days: u64| std::time::Duration::from_hours(24 * days);
        assert!(about("") > days(180 + 30), "{:?}", about(""));
        let rare = about("[distribution]\ncadence = \"400d\"\n");
        assert!(rare > days(400 + 30), "{rare:?}");
        // A short one takes nothing from the others.
        assert_eq!(about("[distribution]\ncadence = \"1d\"\n"), about(""));
    }

    #[test]
    fn a_token_file_that_is_not_there_is_told() {
        let text = "[upstream.\"github.com\"]\ntoken_files = [\"/nowhere/token\"]\n";
        let failure = upstreams(&settings(text), &[]).unwrap_err();
        assert!(failure.message().contains("/nowhere/token"));
    }
}
