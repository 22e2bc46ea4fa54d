"""Comment on a pull request, for `action.yml`: `pull_request_comment.py NUMBER < comment.md`.

Later runs update the last comment that contains the mark below and belongs to the token's user, so
comments of other people and workflows stay unchanged. A failed request is only a warning, since
pull requests from forks are not allowed to comment.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any
from urllib.request import Request, urlopen

MARK = "<!-- autoparser compare -->"
LONGEST = 60_000
"""Most characters of a comment; GitHub accepts 65,536."""
SECONDS = 30.0
UNCHANGED = "No chat template is changed any more."
_CUT = "_The rest is left out; the job's summary has all of it._"
_COMMENTS = """
query($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) {
    comments(last: 100) { nodes { databaseId viewerDidAuthor body } } } }
}
"""


def main(number: str) -> None:
    """Write or update the comment."""
    text = sys.stdin.read()
    try:
        known = own_comment(int(number))
        if not text and known is None:
            return
        repository = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}"
        body = {"body": f"{MARK}\n{shortened(text or UNCHANGED)}"}
        if known is None:
            ask("POST", f"{repository}/issues/{number}/comments", body)
        else:
            ask("PATCH", f"{repository}/issues/comments/{known}", body)
    except OSError as error:
        reason = " ".join(str(error).split())
        print(  # noqa: T201 - a line for the runner
            f"::warning title=autoparser::the comment could not be written ({reason}); it needs the"
            " permission pull-requests: write, which pull requests from forks do not have"
        )


def own_comment(number: int) -> int | None:
    """Return the id of the last marked comment of this token, or None. Raises OSError."""
    owner, _, name = os.environ["GITHUB_REPOSITORY"].partition("/")
    variables = {"owner": owner, "name": name, "number": number}
    url = os.environ["GITHUB_GRAPHQL_URL"]
    answer = ask("POST", url, {"query": _COMMENTS, "variables": variables})
    if answer.get("errors"):
        raise OSError(answer["errors"][0]["message"])
    nodes = answer["data"]["repository"]["pullRequest"]["comments"]["nodes"]
    mine = [row for row in nodes if row["viewerDidAuthor"] and row["body"].startswith(MARK)]
    return mine[-1]["databaseId"] if mine else None


def ask(method: str, url: str, body: dict[str, Any]) -> Any:
    """Return the JSON that GitHub answers. Raises OSError."""
    headers = {
        "Authorization": f"Bearer {os.environ['GH_TOKEN']}",
        "Accept": "application/vnd.github+json",
        "Content-Type": "application/json",
    }
    request = Request(url, json.dumps(body).encode(), headers, method=method)  # noqa: S310
    with urlopen(request, timeout=SECONDS) as response:  # noqa: S310 - the runner names it
        return json.load(response)


def shortened(text: str) -> str:
    """Return a text that is not too long, cut after a line, with its last fence closed."""
    if len(text) <= LONGEST:
        return text
    kept, fence = [], ""
    for line in text[:LONGEST].split("\n")[:-1]:
        if fence:
            fence = "" if line.strip() == fence else fence
        elif line.startswith("```"):
            fence = line[: len(line) - len(line.lstrip("`"))]
        kept.append(line)
    return "\n".join([*kept, fence, "", _CUT])


if __name__ == "__main__":
    main(sys.argv[1])
