"""A graph of `ramet wiki` as a retriever of LlamaIndex: `pip install 'ramet[wiki]' llama-index-core`.

    python examples/wiki_llamaindex.py wiki.lbug "how were ciphers broken"

Nodes are passages; their metadata says where each comes from. Each search sees the graph as it is at that moment.
"""

import argparse

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from ramet.wiki import GraphReader, open_graph


class WikiRetriever(BaseRetriever):  # type: ignore[misc] # not among what the project's checks install
    """Retriever that finds passages by words and meaning."""

    def __init__(self, graph: GraphReader, limit: int = 5) -> None:
        super().__init__()
        self.graph = graph
        self.limit = limit

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(
                node=TextNode(
                    text=hit.passage, metadata={"title": hit.title, "section": hit.path, "url": hit.url}
                ),
                score=hit.score,
            )
            for hit in self.graph.search(query_bundle.query_str, limit=self.limit)
        ]  # fmt: skip


def main(graph: str, question: str) -> None:
    retriever = WikiRetriever(open_graph(graph))
    for found in retriever.retrieve(question):
        print(f"{found.metadata['title']} > {found.metadata['section']}: {found.text}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", help="the file that `ramet wiki expand` made")
    parser.add_argument("question")
    given = parser.parse_args()
    main(given.graph, given.question)
