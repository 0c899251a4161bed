"""Answers questions about files with ScanCode's own functions, one JSON line for each.

Started with the most memory in bytes and the seconds one scanner may take for a file. The first
line it writes says who it is. What anybody prints goes to standard error.
"""

import hashlib
import json
import os
import resource
import sys
import time

ANSWERS = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
os.dup2(2, 1)

MEMORY = int(sys.argv[1])
TIMEOUT = float(sys.argv[2])


def say(value):
    ANSWERS.write(json.dumps(value, default=str))
    ANSWERS.write("\n")
    ANSWERS.flush()


def limit():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if MEMORY > 0:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.nice(10)


def fingerprint():
    """What tells two license indexes apart: the names and sizes of what it was made from."""
    import licensedcode.models as models

    seen = hashlib.sha256()
    for directory in (models.rules_data_dir, models.licenses_data_dir):
        names = sorted(os.listdir(directory))
        for name in names:
            size = os.stat(os.path.join(directory, name)).st_size
            seen.update(f"{name} {size}\n".encode())
    return seen.hexdigest()[:12]


def scan(location):
    from scancode import api
    from scancode.interrupt import interruptible

    answer = {"scan_errors": []}
    steps = (
        ("info", api.get_file_info, {}),
        ("licenses", api.get_licenses, {"deadline": time.time() + int(TIMEOUT / 2.5)}),
        ("copyrights", api.get_copyrights, {"deadline": time.time() + int(TIMEOUT / 2.5)}),
        ("packages", api.get_package_data, {}),
    )
    for name, function, options in steps:
        if "deadline" in options:
            options = {"deadline": time.time() + int(TIMEOUT / 2.5)}
        error, found = interruptible(function, args=(location,), kwargs=options, timeout=TIMEOUT)
        if error:
            answer["scan_errors"].append(f"ERROR: for scanner: {name}:\n{error}")
            continue
        answer.update(found or {})
    lead(answer)
    return answer


def lead(answer):
    """Adds to each match the names of the files that its rule leads to."""
    from licensedcode.cache import get_index

    rules = rules_by_identifier(get_index())
    for detection in answer.get("license_detections") or ():
        for match in detection["matches"]:
            rule = rules.get(match.get("rule_identifier"))
            names = list(getattr(rule, "referenced_filenames", None) or ())
            if names:
                match["referenced_filenames"] = names


RULES = {}


def rules_by_identifier(index):
    if not RULES:
        for rule in index.rules_by_rid:
            RULES[rule.identifier] = rule
    return RULES


def warm():
    """Reads whatever else is read once, while nobody counts the time: a limit that strikes while a
    cache is being read would make ScanCode write it anew."""
    import tempfile

    from packagedcode.cache import get_cache
    from scancode import api

    get_cache()
    with tempfile.NamedTemporaryFile(suffix=".c") as file:
        file.write(b"/* Copyright 2020 Example Corp. */\n")
        file.flush()
        api.get_file_info(file.name)
        api.get_licenses(file.name)
        api.get_copyrights(file.name)
        api.get_package_data(file.name)


def main():
    limit()
    try:
        import scancode_config
        from licensedcode.cache import get_index

        get_index()
        warm()
        hello = {
            "version": scancode_config.__version__,
            "spdx_list": getattr(scancode_config, "spdx_license_list_version", ""),
            "index": fingerprint(),
        }
    except BaseException as error:
        say({"error": f"{type(error).__name__}: {error}"})
        return
    say(hello)
    for line in sys.stdin:
        question = json.loads(line)
        try:
            if question["op"] == "scan":
                say(scan(question["location"]))
            elif question["op"] == "tree":
                say(tree(question["files"]))
            else:
                say({"error": "no such question"})
        except MemoryError:
            os._exit(3)


ROOT = "codebase/"


def tree(files):
    """Lets the steps run that ScanCode takes over a whole tree, without the texts."""
    from commoncode.resource import VirtualCodebase
    from licensedcode.plugin_license import LicenseScanner
    from packagedcode.plugin_package import PackageScanner

    scanners = sorted((LicenseScanner(), PackageScanner()), key=lambda one: one.run_order)
    codebase_attributes, resource_attributes = {}, {}
    for scanner in scanners:
        codebase_attributes.update(scanner.codebase_attributes)
        resource_attributes.update(scanner.resource_attributes)
    codebase = VirtualCodebase(
        location={"headers": [], "files": [complete(file) for file in files]},
        codebase_attributes=codebase_attributes,
        resource_attributes=resource_attributes,
    )
    for scanner in scanners:
        scanner.process_codebase(codebase, strip_root=True)
    told = []
    for resource in codebase.walk():
        if not resource.is_file:
            continue
        path = strip(resource.path)
        others = []
        for detection in resource.license_detections or ():
            for match in detection["matches"]:
                other = strip(match.get("from_file") or resource.path)
                if other != path and other not in others:
                    others.append(other)
        told.append({"path": path, "spdx": resource.detected_license_expression_spdx, "from": others})
    packages = []
    for package in codebase.attributes.packages:
        paths = [strip(path) for path in package.get("datafile_paths") or ()]
        packages.append({
            "purl": package.get("purl"),
            "datafile_paths": paths,
            "declared_license_expression_spdx": package.get("declared_license_expression_spdx"),
        })
    return {"files": told, "packages": packages}


def strip(path):
    return path[len(ROOT):] if path.startswith(ROOT) else path


def complete(file):
    """A file with every field that the steps look for."""
    whole = {
        "type": "file",
        "package_data": [],
        "for_packages": [],
        "detected_license_expression": None,
        "detected_license_expression_spdx": None,
        "license_detections": [],
        "license_clues": [],
        "percentage_of_license_text": 0,
    }
    whole.update({key: value for key, value in file.items() if key in whole})
    whole["path"] = ROOT + file["path"]
    for detection in whole["license_detections"]:
        detection.setdefault("identifier", None)
        for match in detection["matches"]:
            match["from_file"] = None
            match.setdefault("matched_text", None)
    for match in whole["license_clues"]:
        match["from_file"] = None
    return whole


main()
