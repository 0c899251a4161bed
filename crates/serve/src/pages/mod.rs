//! Pages, rendered here and complete without a script.

mod overview;
mod repo;

use askama::Template;
use axum::{
    Router,
    http::{StatusCode, header},
    response::{Html, IntoResponse, Response},
    routing::get,
};

use crate::{Web, problem::Problem};

pub(crate) fn router() -> Router<Web> {
    Router::new()
        .route("/", get(overview::page))
        .route("/repos/{id}", get(repo::page))
        .route("/assets/style.css", get(style))
}

async fn style() -> impl IntoResponse {
    (
        [
            (header::CONTENT_TYPE, "text/css; charset=utf-8"),
            (header::CACHE_CONTROL, "public, max-age=3600"),
        ],
        include_str!("../../assets/style.css"),
    )
}

/// What every page has around it.
pub(crate) struct Frame {
    pub banner: Option<String>,
    pub version: &'static str,
}

impl Frame {
    pub(crate) fn new(web: &Web) -> Self {
        Self {
            banner: web.banner.clone(),
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

fn render(page: &impl Template) -> Result<Response, Problem> {
    let html = page.render().map_err(Problem::database)?;
    Ok((StatusCode::OK, Html(html)).into_response())
}

/// "3 m ago", "in 2 d": how people tell time. The exact time stands in the title.
pub(crate) fn relative(now: i64, then: i64) -> String {
    let seconds = (now - then).unsigned_abs() / 1_000_000;
    let span = match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} m", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    };
    if then > now {
        format!("in {span}")
    } else {
        format!("{span} ago")
    }
}

#[cfg(test)]
mod tests {
    use super::relative;

    #[test]
    fn times_are_told_as_people_tell_them() {
        let at = |seconds: i64| seconds * 1_000_000;
        assert_eq!(relative(at(100), at(70)), "30 s ago");
        assert_eq!(relative(at(0), at(7_200)), "in 2 h");
        assert_eq!(relative(at(0), at(86_400 * 180)), "in 180 d");
    }
}
