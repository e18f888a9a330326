"""Worlds for rules in German, French and Spanish."""

from __future__ import annotations

from .rules import Domain, Flag, Kind, Number

DOMAINS: tuple[Domain, ...] = (
    Domain(
        "Rückgabe",
        "die Rückgabe wird angenommen",
        ("Wird die Rückgabe angenommen?", "Darf die Ware zurückgegeben werden?", "Is the return accepted?"),
        (
            Flag("kassenbon", "der Kassenbon liegt vor", "der Kassenbon fehlt"),
            Flag("getragen", "die Ware wurde getragen", "die Ware ist ungetragen"),
            Number("tage", "die Zeit seit dem Kauf", "Tage", 1, 60),
            Number("preis", "der Preis", "Euro", 5, 400),
            Kind("zahlung", "die Zahlungsart", ("Karte", "bar", "Rechnung", "Gutschein")),
        ),
        "de",
    ),
    Domain(
        "Urlaub",
        "der Urlaub wird genehmigt",
        ("Wird der Urlaub genehmigt?", "Darf die Person in Urlaub gehen?", "Is the leave approved?"),
        (
            Number("resttage", "die Zahl der Resttage", "", 0, 30),
            Number("dauer", "die Dauer des Urlaubs", "Tage", 1, 25),
            Flag("vertretung", "eine Vertretung ist gefunden", "eine Vertretung fehlt noch"),
            Flag("messe", "in der Woche ist Messe", "in der Woche ist keine Messe"),
            Kind("abteilung", "die Abteilung", ("Lager", "Vertrieb", "Technik", "Einkauf")),
        ),
        "de",
    ),
    Domain(
        "Schwimmbad",
        "der Eintritt ist ermäßigt",
        ("Ist der Eintritt ermäßigt?", "Zahlt die Person weniger?", "Does the person pay less?"),
        (
            Number("alter", "das Alter", "Jahre", 3, 90),
            Flag("ausweis", "ein Schülerausweis wird gezeigt", "ein Schülerausweis wird nicht gezeigt"),
            Number("gruppe", "die Größe der Gruppe", "Personen", 1, 25),
            Kind("wochentag", "der Wochentag", ("Montag", "Mittwoch", "Samstag", "Sonntag")),
            Flag("verein", "die Person ist im Verein", "die Person ist nicht im Verein"),
        ),
        "de",
    ),
    Domain(
        "remboursement",
        "l'achat est remboursé",
        ("L'achat est-il remboursé ?", "Le client récupère-t-il son argent ?", "Is the purchase refunded?"),
        (
            Flag("ticket", "le ticket de caisse est présent", "le ticket de caisse manque"),
            Flag("ouvert", "l'emballage est ouvert", "l'emballage est intact"),
            Number("jours", "le délai depuis l'achat", "jours", 1, 60),
            Number("prix", "le prix", "euros", 5, 400),
            Kind("motif", "le motif", ("défaut", "taille", "retard", "cadeau")),
        ),
        "fr",
    ),
    Domain(
        "cantine",
        "l'élève mange gratuitement",
        ("L'élève mange-t-il gratuitement ?", "Le repas est-il gratuit ?", "Is the meal free for the pupil?"),
        (
            Number("age", "l'âge de l'élève", "ans", 5, 18),
            Number("enfants", "le nombre d'enfants dans la famille", "", 1, 7),
            Flag("bourse", "l'élève a une bourse", "l'élève n'a pas de bourse"),
            Flag("commune", "la famille habite la commune", "la famille habite ailleurs"),
            Kind("niveau", "le niveau", ("primaire", "collège", "lycée")),
        ),
        "fr",
    ),
    Domain(
        "entrada",
        "la persona puede entrar",
        ("¿Puede entrar la persona?", "¿Se permite la entrada?", "May the person enter?"),
        (
            Number("edad", "la edad", "años", 8, 80),
            Flag("invitacion", "la persona tiene invitación", "la persona no tiene invitación"),
            Flag("acompanado", "la persona viene acompañada", "la persona viene sola"),
            Kind("sala", "la sala", ("azul", "roja", "verde")),
            Number("hora", "la hora de llegada", "", 9, 23),
        ),
        "es",
    ),
    Domain(
        "beca",
        "el alumno recibe la beca",
        ("¿Recibe el alumno la beca?", "¿Se concede la beca?", "Does the pupil get the grant?"),
        (
            Number("nota", "la nota", "puntos", 1, 10),
            Number("hermanos", "el número de hermanos", "", 0, 6),
            Flag("trabaja", "el alumno trabaja", "el alumno no trabaja"),
            Flag("solicitud", "la solicitud está completa", "la solicitud está incompleta"),
            Kind("curso", "el curso", ("primero", "segundo", "tercero")),
        ),
        "es",
    ),
)
