"""Documents edited by many: edits of one document happen in order, those of different documents side by side.

Four editors work on three documents. An edit reads the document, types letter by letter while all others go on,
and writes the whole document back: code that loses work when two run at once. ``document_id=name`` is all that it takes
to prevent that. With ``--no-paths`` the same edits run in any order, and most of them are lost.
"""

import argparse
import asyncio
import tempfile
from collections import Counter
from dataclasses import dataclass

from ramet import App, Client, Context, StoreError, Worker, path_key

EDITS = {
    "ann": ["Owls", "Finches", "Gulls"],
    "ben": ["hunt", "sing", "follow"],
    "eve": ["silently", "loudly", "ships"],
    "joe": ["nightly", "daily", "always"],
}
"""What each editor adds to the documents, in this order."""
DOCUMENTS = ["owl.txt", "finch.txt", "gull.txt"]

texts = dict.fromkeys(DOCUMENTS, "")
"""The documents."""
busy: list[str] = []
"""Documents that are being edited, once for each edit."""
app = App()


@dataclass
class Edit:
    """A word that an editor adds to the end of a document."""

    document: str
    editor: str
    word: str


@app.task("edit")
async def edit(ctx: Context, asked: Edit) -> None:
    """Read, type and write: meanwhile anything may happen, but not to this document."""
    text = texts[asked.document]
    busy.append(asked.document)
    print(f"begins {asked.document:<9} {asked.editor}: {asked.word} ({len(busy)} edits at once)")
    for letter in f" {asked.word}" if text else asked.word:
        text += letter
        await asyncio.sleep(0)
    texts[asked.document] = text
    busy.remove(asked.document)
    print(f"ends   {asked.document:<9} {asked.editor}: {asked.word}")


async def report(client: Client) -> None:
    """Print the edits and the documents."""
    done = Counter(path_key(task.path) for task in (await client.tasks(states=["success"])).tasks)
    print(", ".join(f"{edits} edits on path {path}" for path, edits in done.items()))
    for document, text in texts.items():
        print(f"{document}: {text}")


async def main(database: str, *, paths: bool = True) -> None:
    async with app.client(database) as client:
        for editor, words in EDITS.items():
            for document, word in zip(DOCUMENTS, words, strict=True):
                await client.submit(edit, Edit(document, editor, word), document_id=document if paths else None)
        await Worker(app, client, until_idle=True).run()
        await report(client)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("database", nargs="?", help="a file to keep; without it a temporary one is used")
    parser.add_argument("--no-paths", action="store_true", help="let every edit run as it likes, and lose most of them")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            asyncio.run(main(arguments.database or f"{folder}/documents.db", paths=not arguments.no_paths))
        except StoreError as error:
            parser.error(str(error))
