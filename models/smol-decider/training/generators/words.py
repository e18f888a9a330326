"""The small words of the generators: names, places, things. Nothing here decides an answer by itself."""

from __future__ import annotations

NAMES = tuple(
    "Anna Ben Carla David Elena Farid Grace Hugo Ines Jack Kim Lena Marco Nadia Omar Paula Quinn Rosa Sam Tina "
    "Uma Victor Wanda Yusuf Zoe Liam Mia Noah Olga Piotr Aiko Bruno Chidi Dana Emeka Fatima Goran Hana Ivan "
    "Jamila Kofi Leila Mateo Nora Oskar Priya Ravi Selma Tomas Viola".split()
)
SURNAMES = tuple(
    "Abbott Becker Costa Dubois Eriksen Fischer Garcia Hansen Ito Jansen Keller Lopez Moretti Novak Okafor "
    "Petrov Rossi Santos Tanaka Varga Weber Yilmaz Zhang Moreau Lindqvist Kovacs Osei Haddad".split()
)
CITIES = tuple(
    "London Paris Berlin Madrid Rome Vienna Oslo Tokyo Lima Cairo Dublin Prague Boston Denver Lagos Delhi Sydney "
    "Zurich Hamburg Lyon Porto Athens Riga Toronto Austin Leeds Bern Ghent Turin Kyoto".split()
)
MONTHS = tuple("January February March April May June July August September October November December".split())
DAYS = tuple("Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split())
ROOMS = tuple("kitchen garden garage attic office bathroom cellar hall balcony library workshop bedroom".split())
OBJECTS = tuple(
    "bicycle coat suitcase lamp umbrella hat box scarf drill key laptop kite phone guitar map camera".split()
)
COLOURS = tuple("red blue green yellow black white purple orange brown grey".split())
ANIMALS = tuple("cat dog horse rabbit parrot hamster goat turtle fox owl donkey sheep duck".split())
FOODS = tuple("bread cheese pasta apples soup rice tomatoes pizza bananas salad noodles lentils pancakes fish".split())
SUBJECTS = tuple("mathematics history chemistry geography biology physics music art economics".split())
SPORTS = tuple("tennis football chess basketball badminton hockey volleyball golf".split())
COMPANIES = (
    "Northwind",
    "Bluefin",
    "Orbital Foods",
    "Zenith Bank",
    "Fabrikam",
    "Harbour Freight Lines",
    "Kestrel Labs",
    "Mapleworks",
    "Sunvale Clinic",
    "Tidewater Energy",
    "Granite Tools",
    "Papaya Mobile",
)
SERVICES = tuple(
    "checkout search login billing reports uploads calendar webhook mailer inventory profile gateway".split()
)
PRODUCTS = (
    "speaker",
    "coffee machine",
    "laptop",
    "vacuum cleaner",
    "backpack",
    "blender",
    "office chair",
    "smart watch",
    "desk lamp",
    "keyboard",
    "printer",
    "toaster",
    "electric bike",
    "tent",
    "pillow",
    "router",
    "hair dryer",
)
IDENTIFIERS = tuple(
    "parser cache worker config report invoices session queue handler loader index buffer client".split()
)
MAIL_DOMAINS = ("example.com", "mail.example.org", "post.example.net")
