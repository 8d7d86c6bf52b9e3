"""A worker without an event loop and without handlers: a plain loop that takes tasks, works, and says how it went.

For programs that have a loop of their own. Claims, leases, retries and the guard are those of every worker: a link
that leads back up the tree is refused as a cycle, a folder that may not be read fails for good, and a task that a
killed program leaves behind goes to another worker when its lease ends.
"""

import argparse
import tempfile

from ramet import App, Permanent, Spawn, StoreError, SyncClaim, SyncClient

FOLDERS = {
    "/": ["/docs", "/home", "/empty"],
    "/docs": ["/docs/old"],
    "/docs/old": ["/"],
    "/home": ["/home/ann"],
    "/empty": [],
}
"""Entries of each folder; /docs/old has a link to the top, and /home/ann may not be read."""
app = App()


def entries_of(folder: str) -> list[str]:
    """Return the folders in a folder."""
    if folder not in FOLDERS:
        raise Permanent(f"{folder} may not be read")
    return FOLDERS[folder]


def work_on(claim: SyncClaim) -> None:
    """Work on one task: heartbeats keep the lease while this runs, and an error that it raises is an attempt."""
    with claim:
        entries = entries_of(claim.payload)
        if not entries:
            claim.filter("nothing in it")
            return
        claim.advance("listed", {"entries": len(entries)})
        claim.complete(len(entries), spawns=[Spawn("folder", entry, key=entry) for entry in entries])


def report(client: SyncClient, tracking_id: str) -> None:
    """Print a lineage: its tasks, what was refused and why, and how it ended."""
    for task in client.tasks(tracking_id=tracking_id).tasks:
        print(f"{'  ' * task.spawn_depth}{task.key}: {task.state}, {task.result or task.reason or task.error}")
    for block in client.blocks(tracking_id):
        print(f"blocked {block.count} x {block.key}, {block.reason}: {block.detail}")
    lineage = client.lineage(tracking_id)
    assert lineage is not None
    print(f"the lineage is {lineage.state}: {lineage.tasks} tasks created, {lineage.live} live")


def main(database: str) -> None:
    with app.sync_client(database) as client:
        root = client.submit("folder", "/", key="/")
        while claims := client.claim("folder", n=1):
            for claim in claims:
                try:
                    work_on(claim)
                except Permanent as error:
                    print(f"failed: {error}")  # the task knows already
        report(client, root.tracking_id)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("database", nargs="?", help="a file to keep; without it a temporary one is used")
    with tempfile.TemporaryDirectory() as folder:
        try:
            main(parser.parse_args().database or f"{folder}/folders.db")
        except StoreError as error:
            parser.error(str(error))
