"""Arrangement, level and years in seven languages besides English, each in several ways to write it."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest

from ramet.jobs.posting import Posting
from ramet.jobs.text import languages
from ramet.jobs.text.posting_text import Reading, read_posting


def read(description: str = "", title: str = "Ingenieur X", location: str | None = None) -> Reading:
    return read_posting(Posting(url="https://a.example/1", title=title, location=location, description=description))


@pytest.mark.parametrize(
    ("description", "arrangement"),
    [
        ("Du kannst 100 % remote arbeiten.", "remote"),
        ("Die Stelle ist ortsunabhängig.", "remote"),
        ("Wir arbeiten hybrid: zwei Tage pro Woche im Büro.", "hybrid"),
        ("Du kannst teilweise im Homeoffice arbeiten.", "hybrid"),
        ("Flexible Arbeitszeiten und die Möglichkeit zu mobiler Arbeit", "hybrid"),
        ("Die Arbeit findet ausschließlich vor Ort in unserem Werk statt. Kein Homeoffice.", "onsite"),
        ("Remote ist leider nicht möglich.", "onsite"),
        ("Poste en télétravail total, partout en France.", "remote"),
        ("Rythme : 2 jours de télétravail par semaine.", "hybrid"),
        ("Mode de travail hybride, bureaux à Lyon.", "hybrid"),
        ("Pas de télétravail pour ce poste.", "onsite"),
        ("Trabajo 100% remoto desde cualquier lugar.", "remote"),
        ("Modalidad híbrida: 3 días a la semana en oficina.", "hybrid"),
        ("Modalidad presencial en nuestras instalaciones.", "onsite"),
        ("No hay teletrabajo.", "onsite"),
        ("Vaga 100% remota, de qualquer lugar do Brasil.", "remote"),
        ("Modelo de trabalho: híbrido, 2 vezes por semana no escritório.", "hybrid"),
        ("Regime presencial em São Paulo.", "onsite"),
        ("Je werkt volledig thuis.", "remote"),
        ("Hybride werken: drie dagen per week thuis.", "hybrid"),
        ("Thuiswerken is helaas niet mogelijk.", "onsite"),
        ("Praca w pełni zdalna z dowolnego miejsca.", "remote"),
        ("Tryb hybrydowy, 2 dni w tygodniu z biura.", "hybrid"),
        ("Praca stacjonarna w naszym biurze.", "onsite"),
        ("Lavoro da remoto al 100%.", "remote"),
        ("Modalità ibrida: 2 giorni a settimana di smart working.", "hybrid"),
        ("Lavoro in presenza. Non è previsto lo smart working.", "onsite"),
    ],
)
def test_arrangements(description: str, arrangement: str) -> None:
    assert str(read(description).arrangement) == arrangement


@pytest.mark.parametrize(
    ("location", "arrangement"),
    [
        ("Warszawa (praca zdalna)", "remote"), ("Kraków, hybrydowo", "hybrid"), ("Milano (ibrido)", "hybrid"),
        ("Lyon - hybride", "hybrid"), ("São Paulo (presencial)", "onsite"), ("Madrid, teletrabajo", "remote"),
        ("Utrecht, hybride", "hybrid"), ("Berlin, Homeoffice", "remote"),
    ],
)  # fmt: skip
def test_places_that_say_how(location: str, arrangement: str) -> None:
    assert str(read(location=location).arrangement) == arrangement


@pytest.mark.parametrize(
    ("title", "description", "seniority"),
    [
        ("Werkstudent Softwareentwicklung (m/w/d)", "Du hilfst uns bei der Arbeit.", "junior"),
        ("Teamleitung Entwicklung", "Wir suchen dich für unser Team.", "lead"),
        ("Abteilungsleiter IT", "Wir suchen Sie.", "lead"),
        ("Erfahrene Softwareentwicklerin", "Wir suchen dich.", "senior"),
        ("Développeur confirmé", "Nous cherchons un collègue.", "mid"),
        ("Développeur débutant", "Nous cherchons un collègue.", "junior"),
        ("Responsable informatique", "Vous encadrez une équipe.", "lead"),
        ("Prácticas en desarrollo", "Buscamos a alguien.", "junior"),
        ("Jefa de proyecto", "Buscamos a alguien.", "lead"),
        ("Desenvolvedor Pleno", "Procuramos alguém.", "mid"),
        ("Estágio em TI", "Procuramos alguém.", "junior"),
        ("Coordenador de TI", "Procuramos alguém.", "lead"),
        ("Medior ontwikkelaar", "Wij zoeken een collega.", "mid"),
        ("Stagiair data", "Wij zoeken een collega.", "junior"),
        ("Młodszy programista", "Szukamy osoby do zespołu.", "junior"),
        ("Starszy programista", "Szukamy osoby do zespołu.", "senior"),
        ("Kierownik działu IT", "Szukamy osoby do zespołu.", "lead"),
        ("Sviluppatore neolaureato", "Cerchiamo un collega.", "junior"),
        ("Responsabile sviluppo", "Cerchiamo un collega.", "lead"),
    ],
)
def test_levels(title: str, description: str, seniority: str) -> None:
    assert str(read(description, title).seniority) == seniority


@pytest.mark.parametrize(
    ("description", "years"),
    [
        ("Mindestens drei Jahre Berufserfahrung in der Entwicklung", 3),
        ("5 Jahre Erfahrung mit Java", 5),
        ("Au moins 4 ans d'expérience en développement", 4),
        ("Expérience de cinq ans minimum", 5),
        ("Mínimo 3 años de experiencia en puestos similares", 3),
        ("Al menos dos años trabajando con Python", 2),
        ("Experiência mínima de 4 anos na área", 4),
        ("Pelo menos três anos de experiência", 3),
        ("Minimaal 3 jaar ervaring als ontwikkelaar", 3),
        ("Minimum 2 lata doświadczenia na podobnym stanowisku", 2),
        ("Co najmniej pięć lat doświadczenia", 5),
        ("Almeno 3 anni di esperienza nel ruolo", 3),
        ("Seit 50 Jahren entwickeln wir Maschinen.", None),
        ("Depuis 30 ans, nous construisons des ponts.", None),
    ],
)
def test_years(description: str, years: int | None) -> None:
    assert read(description).years_min == years


def test_an_english_text_is_not_searched_for_words_of_other_languages() -> None:
    text = "We are looking for a stage manager for the theatre, and you will work with our actors in the evening. " * 5
    assert languages.is_english(text.lower())
    assert str(read(text, "Starter Motor Designer").seniority) == "mid"
    assert not languages.is_english(
        "wir suchen für unser team in köln eine person, die mit uns gemeinsam arbeitet. " * 5
    )


@pytest.mark.parametrize("code", languages.LANGUAGES)
def test_every_language_has_words_for_all_of_it(code: str) -> None:
    text = (files(languages) / f"{code}.toml").read_text(encoding="utf-8")
    words = tomllib.loads(text)
    assert set(words) == {"pay", "arrangement", "level", "years"}
    keys = {"words", "hour", "day", "week", "month", "year", "gross", "between", "at_most", "at_least"}
    assert set(words["pay"]) == keys
    assert set(words["arrangement"]) == {"remote", "hybrid", "onsite", "denied"}
    assert set(words["level"]) == {"junior", "mid", "senior", "lead"}
    assert set(words["years"]) == {"units", "experience", "asks", "numbers"}
    assert all(word for section in words.values() for entries in section.values() for word in entries)
