"""Facts that a wiki states of itself and that decide how its titles are read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

ENGLISH = frozenset({"en", "simple"})
ARTICLES = 0
TEMPLATES = 10
CATEGORIES = 14


@dataclass(frozen=True, slots=True)
class Site:
    """A wiki's rules for titles, as its `siteinfo` or its dump states them.

    Attributes:
        name: what the wiki calls itself.
        namespaces: number by casefolded prefix without the colon: local names, canonical names and aliases. The
            canonical English names are always among them, as MediaWiki takes them everywhere.
        interwiki: casefolded prefixes that lead to other wikis.
        capital_first: whether the first letter of a title is upper-cased (all but wiktionaries).
        redirect_words: words that begin a redirect, such as `#REDIRECT`, casefolded.
        disambiguation_templates: canonical titles, without namespace, of templates that mark a page as disambiguation.
        hidden_categories: canonical names of categories that are not shown.
        article_url: where an article is read, with `$1` for its title; empty if nowhere.
        language: code of the texts' language, such as `fr`; empty if it is not known.
    """

    name: str
    namespaces: Mapping[str, int] = field(default_factory=dict)
    interwiki: frozenset[str] = frozenset()
    capital_first: bool = True
    redirect_words: tuple[str, ...] = ("#redirect",)
    disambiguation_templates: frozenset[str] = frozenset()
    hidden_categories: frozenset[str] = frozenset()
    article_url: str = ""
    language: str = ""

    @property
    def english(self) -> bool:
        """Whether the texts are in English; true where their language is not known."""
        return is_english(self.language)


def is_english(language: str) -> bool:
    """Return whether texts in the language of this code, empty if it is not known, are read as English."""
    return not language or language.partition("-")[0] in ENGLISH


_CODE = re.compile(r"[a-z]{2,12}(?:-[a-z0-9]{1,12})*")


def language_code(stated: object) -> str:
    """Return the code of a language as a wiki states it; empty for anything else."""
    code = stated.lower() if isinstance(stated, str) else ""
    return code if _CODE.fullmatch(code) else ""


_LANGUAGES = """
aa ab ace ady af ak als alt am ami an ang ann anp ar arc ary arz as ast atj av avk awa ay az azb ba ban bar bat-smg
bbc bcl bdr be be-tarask be-x-old bew bg bh bi bjn blk bm bn bo bpy br bs btm bug bxr ca cbk-zam cdo ce ceb ch cho
chr chy ckb co cr crh cs csb cu cv cy da dag de dga din diq dsb dtp dty dv dz ee egl el eml en eo es et eu ext fa
fat ff fi fiu-vro fj fo fon fr frp frr fur fy ga gag gan gcr gd gl glk gn gom gor got gpe gsw gu guc gur guw gv ha
hak haw he hi hif ho hr hsb ht hu hy hyw hz ia iba id ie ig igl ii ik ilo inh io is it iu ja jam jbo jv ka kaa kab
kbd kbp kcg kg kge ki kj kk kl km kn knc ko koi kr krc ks ksh ku kus kv kw ky la lad lb lbe lez lfn lg li lij lld
lmo ln lo lrc lt ltg lv lzh mad mai map-bms mdf mg mh mhr mi min mk ml mn mni mnw mos mr mrj ms mt mus mwl my myv
mzn na nah nan nap nb nds nds-nl ne new ng nia nl nn no nov nqo nr nrm nso nv ny oc olo om or os pa pag pam pap pcd
pcm pdc pdt pfl pi pih pl pms pnb pnt ps pt pwn qu rm rmy rn ro roa-rup roa-tara rsk ru rue rup rw sa sah sat sc scn
sco sd se sg sgs sh shi shn shy si simple sk skr sl sm smn sn so sq sr srn ss st stq su sv sw syl szl szy ta tay tcy
tdd te tet tg th ti tig tk tl tly tn to tpi tr trv ts tt tum tw ty tyv udm ug uk ur uz ve vec vep vi vls vo vro wa
war wo wuu xal xh xmf yi yo yue za zea zgh zh zh-classical zh-min-nan zh-yue zu
"""

_PROJECTS = """
b betawikiversity bugzilla c commons d foundation gerrit incubator m mediawikiwiki mediazilla meta metawiki
metawikimedia metawikipedia mw n oldwikisource outreach outreachwiki phab phabricator q quarry s sourceswiki species
testwiki toolforge toollabs v voy w wikibooks wikicities wikidata wikifunctions wikimania wikimedia wikinews
wikipedia wikiquote wikisource wikispecies wikitech wikiversity wikivoyage wikt wiktionary wmania wmf
"""

LANGUAGES = frozenset(_LANGUAGES.split())
"""Casefolded codes of Wikipedia's languages."""
WELL_KNOWN = frozenset(f"{_LANGUAGES} {_PROJECTS}".split())
"""Casefolded codes of Wikipedia's languages, and prefixes of Wikimedia's other projects."""
