//! `gleaner sim`: the simulated world as a server, for drills and for trying things out.

use std::net::SocketAddr;

use ::db::Clock;
use clap::Args;
use serde::Serialize;
use sim::{Config, Server, WorldClock, WorldSize};

use crate::{
    clock,
    error::{Exit, Failure, Result, codes},
    printer::Row,
    session::Session,
    stop,
};

/// Serve a simulated world: forges with repositories that are made up from a seed
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner sim --seed 7 --repos 2500
  gleaner sim --listen 127.0.0.1:8788 --speed 600")]
pub(crate) struct SimArgs {
    /// The same seed makes the same world
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Repositories of the organisation `meadow` on each forge; others have a third as many
    #[arg(long, value_name = "N", default_value_t = 120, value_parser = clap::value_parser!(u32).range(..=MOST))]
    repos: u32,
    /// The address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8788")]
    listen: SocketAddr,
    /// How many times as fast as life its time passes
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = speed)]
    speed: f64,
}

/// All of it is held in memory.
const MOST: i64 = 1_000_000;

/// One upstream of the world.
#[derive(Serialize)]
struct Served {
    upstream: String,
    base_url: Option<String>,
}

impl Row for Served {
    const COLUMNS: &'static [&'static str] = &["upstream", "base_url"];
}

pub(crate) async fn run(session: &Session, args: SimArgs) -> Result<Exit> {
    // It begins now, so that at the speed of life everybody's own clock fits.
    let clock = Clock::scaled(Clock::system().now(), args.speed);
    let server = Server::start(Config {
        seed: args.seed,
        size: WorldSize {
            repositories: (args.repos / 3) as usize,
            organisation: args.repos as usize,
        },
        listen: args.listen,
        clock: WorldClock::given(args.speed, move || clock.now().as_micros()),
        ..Config::default()
    });
    let server = server.await.map_err(|error| {
        Failure::new(&codes::PORT, format!("cannot listen on {}", args.listen))
            .caused_by(&error)
            .hint("choose another address with `--listen`; port 0 takes a free one")
    })?;
    let served: Vec<Served> = server
        .upstreams()
        .map(|name| Served {
            upstream: name.to_owned(),
            // Clients know themselves where an API begins on its host.
            base_url: server.host_url(name),
        })
        .collect();
    session.printer.rows(&served)?;
    for line in introduction(&server, &served, args.speed) {
        session.printer.note(&line);
    }
    server.until(stop::next_signal()).await;
    Ok(Exit::Ok)
}

/// What to paste where, so that gleaner asks this world.
fn introduction(server: &Server, served: &[Served], speed: f64) -> Vec<String> {
    let mut lines = vec!["in gleaner.toml:".to_owned()];
    for Served { upstream, base_url } in served {
        let base = base_url.as_deref().unwrap_or_default();
        lines.push(format!("[upstream.\"{upstream}\"]"));
        lines.push(format!("base_url = \"{base}\""));
    }
    let address = server.address();
    if (speed - 1.0).abs() > f64::EPSILON {
        lines.push("in the environment:".to_owned());
        lines.push(format!("{}=world:http://{address}", clock::VARIABLE));
    }
    let owner = sim::ORGANISATION;
    lines.push(format!(
        "for example: gleaner group add {owner} --from https://codeberg.org/{owner}"
    ));
    lines.push(format!("listening on http://{address}/"));
    lines
}

fn speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(speed) if speed > 0.0 && speed <= 1e6 => Ok(speed),
        _ => Err("a number above 0, up to 1000000".to_owned()),
    }
}
