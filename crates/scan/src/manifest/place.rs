//! Where in a repository a file stands, read from its path alone.

/// What a path says about the purpose of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// Part of the project itself.
    Ordinary,
    /// Test data or test projects.
    Test,
    /// Examples, demos, samples, benchmarks, documentation.
    Example,
    /// Somebody else's code, copied in.
    Vendored,
    /// A template to generate projects from.
    Template,
}

impl Place {
    /// The word used in output and storage.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ordinary => "ordinary",
            Self::Test => "test",
            Self::Example => "example",
            Self::Vendored => "vendored",
            Self::Template => "template",
        }
    }
}

/// Directory names that tell, as they are after lower-casing.
const WORDS: &[(&str, Place)] = &[
    ("node_modules", Place::Vendored),
    ("bower_components", Place::Vendored),
    ("vendor", Place::Vendored),
    ("vendored", Place::Vendored),
    ("_vendor", Place::Vendored),
    ("third_party", Place::Vendored),
    ("third-party", Place::Vendored),
    ("thirdparty", Place::Vendored),
    ("3rdparty", Place::Vendored),
    ("3rd_party", Place::Vendored),
    ("pods", Place::Vendored),
    ("carthage", Place::Vendored),
    ("extern", Place::Vendored),
    ("external", Place::Vendored),
    ("externals", Place::Vendored),
    ("site-packages", Place::Vendored),
    ("template", Place::Template),
    ("templates", Place::Template),
    ("skeleton", Place::Template),
    ("skeletons", Place::Template),
    ("archetype-resources", Place::Template),
    ("cookiecutter", Place::Template),
    ("scaffold", Place::Template),
    ("scaffolding", Place::Template),
    ("boilerplate", Place::Template),
    ("test", Place::Test),
    ("tests", Place::Test),
    ("testdata", Place::Test),
    ("test-data", Place::Test),
    ("test_data", Place::Test),
    ("testcases", Place::Test),
    ("test-cases", Place::Test),
    ("test_cases", Place::Test),
    ("testresources", Place::Test),
    ("test-resources", Place::Test),
    ("test_resources", Place::Test),
    ("test_package", Place::Test),
    ("test_packages", Place::Test),
    ("test-packages", Place::Test),
    ("fixture", Place::Test),
    ("fixtures", Place::Test),
    ("__fixtures__", Place::Test),
    ("__tests__", Place::Test),
    ("__mocks__", Place::Test),
    ("mocks", Place::Test),
    ("spec", Place::Test),
    ("specs", Place::Test),
    ("e2e", Place::Test),
    ("snapshots", Place::Test),
    ("integration-test", Place::Test),
    ("integration-tests", Place::Test),
    ("integration_test", Place::Test),
    ("integration_tests", Place::Test),
    ("functional-tests", Place::Test),
    ("functional_tests", Place::Test),
    ("androidtest", Place::Test),
    ("example", Place::Example),
    ("examples", Place::Example),
    ("sample", Place::Example),
    ("samples", Place::Example),
    ("demo", Place::Example),
    ("demos", Place::Example),
    ("playground", Place::Example),
    ("playgrounds", Place::Example),
    ("sandbox", Place::Example),
    ("tutorial", Place::Example),
    ("tutorials", Place::Example),
    ("snippets", Place::Example),
    ("bench", Place::Example),
    ("benches", Place::Example),
    ("benchmark", Place::Example),
    ("benchmarks", Place::Example),
    ("doc", Place::Example),
    ("docs", Place::Example),
    ("website", Place::Example),
];

/// Judges a path by the names of its directories. The outermost telling name decides between
/// equals, but vendored code stays vendored wherever it lies.
pub fn place(path: &str) -> Place {
    let Some((directories, _)) = path.rsplit_once('/') else {
        return Place::Ordinary;
    };
    let mut found = Place::Ordinary;
    for directory in directories.split('/') {
        match judge(directory) {
            Place::Vendored => return Place::Vendored,
            told if found == Place::Ordinary => found = told,
            _ => {}
        }
    }
    found
}

fn judge(directory: &str) -> Place {
    // `{{cookiecutter.name}}/setup.py` and the like.
    if directory.contains("{{") || directory.contains("${") || directory.contains("<%") {
        return Place::Template;
    }
    // .NET and Swift projects: `src/Foo.Tests/Foo.Tests.csproj`, `FooTests`. The singular with a
    // dash is no sign: `tokio-test` and its like are packages for testing.
    if [
        ".Test",
        ".Tests",
        ".UnitTests",
        ".IntegrationTests",
        "Tests",
        "-tests",
        "_tests",
    ]
    .iter()
    .any(|ending| directory.len() > ending.len() && directory.ends_with(ending))
    {
        return Place::Test;
    }
    WORDS
        .iter()
        .find(|(word, _)| directory.eq_ignore_ascii_case(word))
        .map_or(Place::Ordinary, |(_, place)| *place)
}
