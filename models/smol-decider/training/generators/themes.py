"""Short texts on everyday themes, with several descriptions of each theme, a few of them long."""

from __future__ import annotations

import attrs


@attrs.frozen
class Theme:
    """A theme: its names, descriptions of it, and texts on it."""

    names: tuple[str, ...]
    means: tuple[str, ...]
    texts: tuple[str, ...]


THEMES = (
    Theme(
        ("weather", "climate"),
        (
            "rain, sun, wind, temperature",
            (
                "everything about what the sky does: showers, storms, heat, frost, and the "
                "forecast for the coming days, including warnings to sailors and farmers"
            ),
        ),
        (
            "Heavy showers will reach the coast by noon.",
            "It froze again last night, the pond is solid.",
            "A dry east wind kept the valley warm.",
            "Nach dem Gewitter kühlte es stark ab.",
        ),
    ),
    Theme(
        ("money", "finance"),
        (
            "savings, loans, prices, wages",
            (
                "texts that deal with earning, saving, lending or spending, such "
                "as wages, interest, rent, taxes, pensions and what things cost"
            ),
        ),
        (
            "The fund pays out a dividend in spring.",
            "Gold rose to a new high.",
            "He paid back the last rate of his loan.",
            "Mon compte est à découvert.",
        ),
    ),
    Theme(
        ("health", "medicine"),
        (
            "illness, doctors, drugs",
            (
                "anything to do with the body and its troubles: symptoms, diagnosis, "
                "treatment, medicine, hospitals and how to stay well"
            ),
        ),
        (
            "The rash vanished after three days of ointment.",
            "She broke her wrist and wears a plaster.",
            "Two drops in each eye, morning and evening.",
            "Tiene fiebre y le duele la garganta.",
        ),
    ),
    Theme(
        ("sports", "athletics"),
        (
            "games, races, teams",
            "matches, races, training, records, teams and players, both professional and in the village club",
        ),
        (
            "The keeper saved two penalties.",
            "She ran the marathon in under three hours.",
            "Our team went down to the second division.",
            "Il a perdu en trois sets.",
        ),
    ),
    Theme(
        ("food", "cooking"),
        (
            "meals, recipes, ingredients",
            "what is eaten and drunk and how it is made: recipes, ingredients, kitchens, restaurants, taste",
        ),
        (
            "Whip the cream with a little sugar.",
            "The dumplings were filled with mushrooms.",
            "Let the dough rise for an hour.",
            "Man schmeckt den Zimt kaum.",
        ),
    ),
    Theme(
        ("travel", "tourism"),
        (
            "trips, hotels, sights",
            "journeys and holidays, how to get there, where to sleep, what to see and what to pack",
        ),
        (
            "From the tower you can see the whole old town.",
            "We booked a cabin with a view of the fjord.",
            "Pack light, the hostel has no lift.",
            "La maleta no llegó con nosotros.",
        ),
    ),
    Theme(
        ("animals", "wildlife"),
        (
            "pets and wild beasts",
            (
                "living creatures other than people: how they look, eat, "
                "breed and live, at home, on the farm or in the wild"
            ),
        ),
        (
            "The hedgehog sleeps under the leaves.",
            "Our parrot has learned to whistle.",
            "Wolves hunt in packs.",
            "Le veau est né cette nuit.",
        ),
    ),
    Theme(
        ("computers", "IT"),
        (
            "software, hardware, networks",
            (
                "machines that compute and what runs on them: programs, updates, "
                "networks, storage, and people's troubles with them"
            ),
        ),
        (
            "The update broke the printer driver.",
            "She wrote a script that sorts the files.",
            "The server ran out of memory.",
            "Der Bildschirm flackert nach dem Start.",
        ),
    ),
    Theme(
        ("education", "school"),
        (
            "lessons, exams, teachers",
            "learning and teaching at school, university or in a course: lessons, marks, exams, pupils, teachers",
        ),
        (
            "The teacher handed back the essays.",
            "He has to repeat the year.",
            "Next week the exam in algebra is due.",
            "Die Schülerin hält ein Referat.",
        ),
    ),
    Theme(
        ("law", "justice"),
        (
            "courts, crimes, contracts",
            "courts and what is brought before them: lawsuits, verdicts, crimes, punishments, contracts and rights",
        ),
        (
            "The judge rejected the appeal.",
            "The clause in the contract is void.",
            "He was fined for theft.",
            "El testigo declaró ante el tribunal.",
        ),
    ),
    Theme(
        ("music", "concerts"),
        (
            "songs, bands, instruments",
            "sounds made on purpose: songs, bands, orchestras, instruments, concerts, and learning to play",
        ),
        (
            "The second violin came in too late.",
            "Their new album has only slow songs.",
            "She practises scales on the flute.",
            "Le chœur répète le jeudi.",
        ),
    ),
    Theme(
        ("housing", "building"),
        (
            "flats, rent, repairs",
            "houses and flats: building, repairing, renting, furnishing and living with neighbours in them",
        ),
        (
            "The roof over the stairs leaks.",
            "They knocked down the wall to the kitchen.",
            "The flat has two rooms and a balcony.",
            "Der Nachbar bohrt schon wieder.",
        ),
    ),
    Theme(
        ("transport", "traffic"),
        (
            "cars, trains, roads",
            "moving people and goods on road, rail, water or in the air, with all jams, breakdowns and rules",
        ),
        (
            "The clutch slips when the van climbs.",
            "There is a queue of nine kilometres before the tunnel.",
            "The tram stops here no longer.",
            "El camión volcó en la curva.",
        ),
    ),
    Theme(
        ("family", "relatives"),
        (
            "parents, children, weddings",
            (
                "people who belong together by birth or marriage: parents, "
                "children, weddings, divorces, and what happens between them"
            ),
        ),
        (
            "My sister is expecting twins.",
            "They have been married for fifty years.",
            "Grandpa tells the same story every Sunday.",
            "Ma tante se remarie en juin.",
        ),
    ),
    Theme(
        ("work", "jobs"),
        (
            "offices, bosses, applications",
            "earning a living by work: applications, bosses, colleagues, shifts, strikes and leaving a post",
        ),
        (
            "He handed in his notice on Friday.",
            "The night shift starts at ten.",
            "She was promoted to head of sales.",
            "Die Belegschaft streikt seit Montag.",
        ),
    ),
    Theme(
        ("garden", "plants"),
        (
            "flowers, trees, vegetables",
            "growing things in beds, pots and orchards: sowing, pruning, harvest, and the tools for it",
        ),
        (
            "Prune the roses before spring.",
            "Sow the radishes in rows.",
            "The apple tree bears for the first time.",
            "Les tulipes sortent déjà.",
        ),
    ),
    Theme(
        ("fashion", "clothes"),
        (
            "dresses, shoes, fabrics",
            "what people wear: clothes, shoes, fabrics, cuts, colours, and how they are washed or mended",
        ),
        (
            "The sleeves are two centimetres too long.",
            "Linen creases but is cool in summer.",
            "She dyed the old skirt green.",
            "Der Reißverschluss klemmt.",
        ),
    ),
    Theme(
        ("energy", "power"),
        (
            "electricity, oil, heating",
            "power and where it comes from: electricity, gas, oil, wind and sun, meters and heating",
        ),
        (
            "The wind farm feeds the whole island.",
            "The power was out for two hours.",
            "Gas is to be replaced by heat pumps.",
            "Le compteur tourne trop vite.",
        ),
    ),
    Theme(
        ("books", "literature"),
        ("novels, poems, authors", "reading and writing: novels, poems, authors, publishers and what is in them"),
        (
            "The second chapter is told by the murderer.",
            "She has published a volume of poems.",
            "The novel ends where it began.",
            "El autor firma ejemplares hoy.",
        ),
    ),
    Theme(
        ("politics", "government"),
        (
            "parties, votes, laws",
            "how a country or town is governed: parties, elections, parliaments, ministers, and new laws",
        ),
        (
            "The council voted against the bypass.",
            "The minister has stepped down.",
            "Turnout was lower than four years ago.",
            "Die Koalition sucht einen neuen Kanzler.",
        ),
    ),
)
