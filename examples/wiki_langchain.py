"""A graph of `ramet wiki` as a retriever of LangChain: `pip install 'ramet[wiki]' langchain-core`.

    python examples/wiki_langchain.py wiki.lbug "how were ciphers broken"

Documents are passages; their metadata says where each comes from. Each search sees the graph as it is at that moment.
"""

import argparse

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from ramet.wiki import GraphReader, open_graph


class WikiRetriever(BaseRetriever):
    """Retriever that finds passages by words and meaning."""

    graph: GraphReader
    limit: int = 5

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [
            Document(
                page_content=hit.passage,
                metadata={"title": hit.title, "section": hit.path, "url": hit.url, "score": hit.score},
            )
            for hit in self.graph.search(query, limit=self.limit)
        ]


def main(graph: str, question: str) -> None:
    retriever = WikiRetriever(graph=open_graph(graph))
    for document in retriever.invoke(question):
        print(f"{document.metadata['title']} > {document.metadata['section']}: {document.page_content}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", help="the file that `ramet wiki expand` made")
    parser.add_argument("question")
    given = parser.parse_args()
    main(given.graph, given.question)
