"""Models of the package sentence-transformers: by name from a hub, or from a folder."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ramet.commands.errors import one_line
from ramet.commands.extras import import_extra
from ramet.wiki.embedding.base import Vector
from ramet.wiki.errors import EmbedderError

PACKAGE = "sentence-transformers"


class SentenceEmbedder:
    """A model that sentence-transformers runs. It sorts texts by length and makes batches of them by itself.

    Only weights in the safetensors format are loaded, and no code that comes with a model is run. A model that
    wants a prompt before queries gets queries without it.
    """

    semantic = True

    def __init__(self, model: str) -> None:
        """Load `MODEL` or `MODEL@REVISION`: a folder, or a name that is fetched from the hub unless it is there.

        The model's id names the very weights: the hub's commit, or a digest of the folder's.

        Raises:
            ExtraMissing: the package is not installed.
            EmbedderError: there is no such model, or it is not in safetensors.
        """
        library = import_extra("sentence_transformers", PACKAGE)
        name, _, revision = model.partition("@")
        folder = Path(model)
        if folder.is_dir():
            name, revision = model, ""
        try:
            self._model: Any = library.SentenceTransformer(
                name, revision=revision or None, trust_remote_code=False, model_kwargs={"use_safetensors": True}
            )
        except (OSError, ValueError, ImportError) as error:
            raise EmbedderError(
                f"sentence-transformers cannot load {model}: {one_line(error)}; give a folder, or MODEL@REVISION"
            ) from error
        weights = _folder_digest(folder) if folder.is_dir() else _hub_commit(name, revision or None)
        shown = folder.resolve().name if folder.is_dir() else name
        self.model_id = f"{PACKAGE}:{shown}@{weights}"
        (vector,) = self._encode([self.model_id])
        self.dimension = len(vector)

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """See `Embedder.embed`. Reads as much of a text as the model does."""
        return self._encode(texts) if texts else []

    def embed_query(self, text: str) -> Vector:
        """See `Embedder.embed_query`."""
        return self._encode([text])[0]

    def _encode(self, texts: Sequence[str]) -> list[Vector]:
        vectors: list[Vector] = self._model.encode(
            list(texts), normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True
        ).tolist()
        return vectors


def _folder_digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.safetensors")):
        digest.update(f"{path.relative_to(folder).as_posix()}\n".encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:12]


def _hub_commit(name: str, revision: str | None) -> str:
    """Return the commit that was loaded, as the hub's cache on this machine has it; else the revision asked for."""
    hub = import_extra("huggingface_hub", PACKAGE)
    # The library looks for a bare name among the models of its own organisation.
    repository = name if "/" in name else f"{PACKAGE}/{name}"
    found = hub.try_to_load_from_cache(repository, "config.json", revision=revision)
    if isinstance(found, str):
        return Path(found).parent.name[:12]
    return revision or "main"
