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


def main():
    limit()
    try:
        import scancode_config
        from licensedcode.cache import get_index

        get_index()
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


def tree(files):
    return {"error": "not yet"}


main()
