"""Technologies: whole words, by case and by what stands beside them."""

from __future__ import annotations

import pytest

from ramet.jobs.text.technologies import canonical_technology, find_technologies


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("We use C#, C++ and .NET; some C/C++ and F#.", "c# c++ .net c f#"),
        ("ASP.NET Core on .NET 8 with VB.NET", "asp.net .net visual_basic"),
        ("Node.js, NodeJS, React.js/Vue.js and next.js", "node.js react vue next.js"),
        ("services in Go and Rust, golang preferred", "go rust"),
        ("Go, Python or C", "go python c"),
        ("Experience with Go services", "go"),
        ("Java (Spring, Hibernate), JavaScript", "java spring hibernate javascript"),
        ("Programming in R; R, SQL and Stata", "r sql stata"),
        ("Amazon Web Services, GCP, Google Cloud Platform, Azure", "aws google_cloud azure"),
        ("Docker/Kubernetes/k8s and CI/CD", "docker kubernetes ci/cd"),
        ("PostgreSQL (Postgres), MySQL, MongoDB, Redis", "postgresql mysql mongodb redis"),
        ("TensorFlow, PyTorch and machine learning", "tensorflow pytorch machine_learning"),
        ("React, Vue, Angular, Svelte with TypeScript/Javascript", "react vue angular svelte typescript javascript"),
        ("Ruby on Rails, RoR, rails; Ruby; PHP", "ruby_on_rails ruby php"),
        ("React Native apps", "react_native"),
        ("Azure DevOps pipelines and T-SQL on SQL Server", "azure_devops t-sql sql_server"),
        ("know Python.Experience with Terraform", "python terraform"),
        ("PYTHON and KUBERNETES", "python kubernetes"),
    ],
)
def test_found(text: str, names: str) -> None:
    assert set(find_technologies(text)) == {name.replace("_", " ") for name in names.split()}


@pytest.mark.parametrize(
    "text",
    [
        "Maintain the email chain; said again; training",
        "Go above and beyond. Ready to go? Go-to-market strategy, let's Go!",
        "R&D, C-level and C-suite, Series C, vitamin C, Plan C",
        "react quickly, express yourself, swift action, a rust belt town, the dart board",
        "Join us this Spring, Summer or Fall. American Express, Shell and others",
        "jobs at https://example.com/python/ruby-on-rails and www.golang.org/doc",
        "the chef cooks; take the helm; a vault; a spark of joy; less is more; a node of trust",
        "tests, its, objects, nets and ports",
        "guard rails, an elk, an iceberg, a remedy, unreal; entra; offices in Palo Alto and Phoenix",
        "",
    ],
)
def test_not_found(text: str) -> None:
    assert find_technologies(text) == {}


def test_mentions_are_counted() -> None:
    assert find_technologies("Python, python and PYTHON; postgres, PostgreSQL") == {"python": 3, "postgresql": 2}


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("NodeJS", "node.js"),
        ("Golang", "go"),
        ("Google  Cloud", "google cloud"),
        ("GCP", "google cloud"),
        ("Rails", "ruby on rails"),
        (".NET Core", ".net"),
        ("C#", "c#"),
        ("Something New", "something new"),
        ("", ""),
    ],
)
def test_canonical(name: str, canonical: str) -> None:
    assert canonical_technology(name) == canonical


def test_every_canonical_name_is_found_as_itself() -> None:
    for name in ("C#", "C++", ".NET", "Node.js", "CI/CD", "PL/SQL", "TCP/IP", "scikit-learn", "Three.js", "S3", "k6"):
        assert canonical_technology(name) in find_technologies(f"such as {name}, Python")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Active TS/SCI security clearance.", []),
        ("TS/SCI with polygraph; TS clearance; TS-SCI", []),
        ("React/TS and Node.js", ["react", "typescript", "node.js"]),
        ("AWS Lambda", ["lambda", "aws"]),
        ("Spark/SparkSQL", ["spark"]),
        ("Node/Express", ["node.js", "express"]),
        ("Pig, Flume, Storm", ["pig", "flume", "storm"]),
        ("Claude Code, Cursor, OpenTofu", ["claude code", "cursor", "opentofu"]),
        ("Among our investors are the Docker CEO and the Stripe founders.", []),
        ("PHP 90,000 - 120,000 a month; 1,200,000 PHP", []),
        ("PHP 8.2 and Laravel", ["php", "laravel"]),
        ("Welding to AWS D1.1 by a certified welder", []),
        ("Oracle Primavera P6, Unifier and Procore", ["primavera p6", "unifier", "procore"]),
        ("You go to the front, make a move and cube it in ruby light.", []),
        ("Power BI, DAX, Power Query and Looker", ["power bi", "dax", "power query", "looker"]),
    ],
)
def test_letters_that_are_no_name_and_names_in_a_row(text: str, names: list[str]) -> None:
    assert list(find_technologies(text)) == names


@pytest.mark.parametrize(
    "text",
    [
        "Rest assured that we answer; make inroads with retail clients, evidently, in a frame of the full story.",
        "You can open accounts at the front door, fortify our defenses, renovate kitchens and retool the plant.",
        "Run all scripts before base camp; an X-ray technician for the control tower, with a bevy of tools.",
        "the graph shows that all critical success factors stand on core data models and a superset of them",
        "Linear algebra, Linear Regression; Core Data Platform teams; an inventor, a prodigy, a viewpoint",
        "semi-conductor plants, a train conductor, a maestro on the blackboard; book a service now; marshmallow",
        "We seek an Enterprise Architect who renovates our cloud storage. Monaco and Lombardy.",
    ],
)
def test_words_of_every_day_are_no_products(text: str) -> None:
    assert find_technologies(text) == {}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("API tests with REST Assured and Java", ["rest assured", "java"]),
        ("Java, Conductor, Temporal", ["java", "conductor", "temporal"]),
        ("Workday Adaptive and NetSuite; working knowledge of Adaptive", ["adaptive planning", "netsuite"]),
        ("Swift, Core Data and XCTest", ["swift", "core data", "xctest"]),
        ("experience with Hex or Retool", ["hex", "retool"]),
        ("Apache Superset, Metabase", ["superset", "metabase"]),
        ("Kimball, Data Vault, dbt", ["data vault", "dbt"]),
        ("costs of (AWS/GCP), R&D and Docker", ["aws", "google cloud", "docker"]),
        ("named by CNBC, Bloomberg and Forbes; Deltek Cobra, EcoSys and Moodle", ["deltek cobra", "ecosys", "moodle"]),
        ("Models on OpenVX, TVM and OpenCL", ["openvx", "tvm", "opencl"]),
        ("Simulation in Flotherm or ANSYS Icepak", ["flotherm", "icepak"]),
        ("Azure Front Door, AWS X-Ray, Cloud Storage", ["azure front door", "x-ray", "aws", "cloud storage"]),
    ],
)
def test_products_with_names_of_every_day(text: str, names: list[str]) -> None:
    assert list(find_technologies(text)) == names
