"""The functions an assistant may have, the sources it may ask, and messages that call for each."""

from __future__ import annotations

import attrs


@attrs.frozen
class Tool:
    """A function that an assistant can call, and messages that ask for it."""

    name: str
    does: str
    takes: tuple[str, ...]
    messages: tuple[str, ...]


TOOLS = (
    Tool(
        "get_weather",
        "Returns the forecast for a place.",
        ("place: string", "day: string, optional"),
        (
            "Will I need an umbrella in {c}?",
            "How hot does it get in {c} on {d}?",
            "¿Va a llover en {c}?",
            "Is it windy in {c}?",
        ),
    ),
    Tool(
        "send_message",
        "Sends a text message to a contact.",
        ("recipient: string", "text: string"),
        (
            "Tell {n} that I am late.",
            "Write to {n}: the key is under the mat.",
            "Let {n} know we have arrived.",
            "Sag {n} Bescheid, dass ich komme.",
        ),
    ),
    Tool(
        "create_event",
        "Puts an entry into the user's calendar.",
        ("title: string", "start: datetime", "end: datetime"),
        (
            "Put the dentist on {d} at nine.",
            "Block two hours on {d} for the tax papers.",
            "Add {n}'s birthday to my diary.",
            "Trag das Treffen am {d} ein.",
        ),
    ),
    Tool(
        "delete_event",
        "Removes an entry from the user's calendar.",
        ("event_id: string",),
        (
            "The meeting on {d} is off, take it out of my diary.",
            "Remove the dentist from {d}.",
            "I am not going to the gym on {d}, clear it.",
            "Unblock {d}, please.",
        ),
    ),
    Tool(
        "play_music",
        "Plays a song, artist or station.",
        ("query: string",),
        (
            "I want to hear some jazz.",
            "Put on something calm for dinner.",
            "Mets du piano, s'il te plaît.",
            "Turn on my running playlist.",
        ),
    ),
    Tool(
        "set_timer",
        "Starts a countdown.",
        ("minutes: number",),
        (
            "Wake me in twenty minutes.",
            "The eggs need six minutes, tell me when.",
            "Count down half an hour.",
            "In zehn Minuten bitte klingeln.",
        ),
    ),
    Tool(
        "translate_text",
        "Translates a text into another language.",
        ("text: string", "target: language code"),
        (
            "What is 'good morning' in Polish?",
            "How do they say '{o}' in Japan?",
            "Put this sentence into French: where is the station?",
            "Was heißt '{o}' auf Spanisch?",
        ),
    ),
    Tool(
        "search_products",
        "Finds articles in the shop's catalogue.",
        ("query: string", "max_price: number, optional"),
        (
            "Do you sell a {p} for less than 50?",
            "I am looking for a quiet {p}.",
            "Show me what you have in the way of {p}s.",
            "Je cherche un cadeau pour {n}, un {p} peut-être.",
        ),
    ),
    Tool(
        "track_order",
        "Tells where an order is.",
        ("order_id: string",),
        (
            "Where has my {p} got to?",
            "My order 5518 should have been here on {d}.",
            "Is the parcel with the {p} on its way?",
            "Wo bleibt mein Paket?",
        ),
    ),
    Tool(
        "cancel_order",
        "Cancels an order that has not been shipped.",
        ("order_id: string", "reason: string"),
        (
            "I do not want the {p} any more, please stop it.",
            "Ordered the {p} twice by mistake, drop one.",
            "Please do not ship order 5518.",
            "Ich möchte die Bestellung zurückziehen.",
        ),
    ),
    Tool(
        "run_sql",
        "Runs a read-only query on the sales database and returns the rows.",
        ("query: string",),
        (
            "How many {p}s did we sell in {c} last month?",
            "Sum up the turnover per region.",
            "Which ten customers bought most this year?",
            "Average order value on {d}s?",
        ),
    ),
    Tool(
        "read_file",
        "Returns the content of a file of the project.",
        ("path: string",),
        (
            "What is in src/main.py?",
            "Show me the first lines of the README.",
            "Open config.yml for me.",
            "Let me see how utils/dates.py looks.",
        ),
    ),
    Tool(
        "write_file",
        "Creates or overwrites a file of the project.",
        ("path: string", "content: string"),
        (
            "Save this as notes.md.",
            "Create a file hello.py that prints hello.",
            "Put the list into todo.txt.",
            "Store the result in out.csv.",
        ),
    ),
    Tool(
        "run_tests",
        "Runs the test suite and returns the failures.",
        ("pattern: string, optional",),
        (
            "Does everything still pass?",
            "Check that my change broke nothing.",
            "Which checks are red right now?",
            "Lass die Prüfungen laufen.",
        ),
    ),
    Tool(
        "calculate",
        "Evaluates an arithmetic expression exactly.",
        ("expression: string",),
        (
            "What is 17.5 % of 2,480?",
            "Divide 9183 by 37.",
            "How much is 12 times 12.50?",
            "Quelle est la racine de 1764 ?",
        ),
    ),
    Tool(
        "find_route",
        "Finds the way between two places.",
        ("start: string", "end: string", "mode: car, bike, train or foot"),
        (
            "How do I get from {c} to the airport?",
            "Quickest way to {c} by train?",
            "Guide me to the nearest petrol station.",
            "Wie komme ich zu Fuß zum Hafen?",
        ),
    ),
    Tool(
        "book_table",
        "Reserves a table at a restaurant.",
        ("restaurant: string", "people: number", "time: datetime"),
        (
            "Four of us would like to eat at Luigi's on {d}.",
            "Get me a table for two tonight.",
            "Reserve dinner for {n} and me.",
            "Un tavolo per sei, {d} sera.",
        ),
    ),
    Tool(
        "get_recipe",
        "Returns a recipe.",
        ("dish: string",),
        (
            "How do I make soup from {f}?",
            "What can I cook with {f}?",
            "I need instructions for pancakes.",
            "Wie backt man Brot?",
        ),
    ),
    Tool(
        "set_lights",
        "Switches lamps or sets their brightness.",
        ("room: string", "level: number from 0 to 100"),
        (
            "It is too dark in here.",
            "Dim the hall a little.",
            "Make the kitchen bright.",
            "Apague la luz del dormitorio.",
        ),
    ),
    Tool(
        "set_temperature",
        "Sets the heating of a room.",
        ("room: string", "degrees: number"),
        (
            "I am freezing in the study.",
            "Make it 21 degrees in the bathroom.",
            "Turn the radiator in the hall down.",
            "Il fait trop chaud au salon.",
        ),
    ),
    Tool(
        "open_ticket",
        "Creates a ticket for the support team.",
        ("title: string", "severity: low, medium or high"),
        (
            "My screen stays black, somebody should look at it.",
            "Report that the printer on floor 2 jams.",
            "The door reader is broken again, please pass it on.",
            "Bitte melden: der Aufzug steht.",
        ),
    ),
    Tool(
        "summarize_document",
        "Writes a short version of a document.",
        ("document_id: string", "length: number of words"),
        (
            "Give me the gist of the contract.",
            "What does the report say in three sentences?",
            "I have no time to read these 40 pages.",
            "Fasse das Protokoll zusammen.",
        ),
    ),
    Tool(
        "convert_currency",
        "Converts an amount at today's rate.",
        ("amount: number", "from: code", "to: code"),
        (
            "How many yen are 200 euros?",
            "What do 50 dollars come to in pesos?",
            "Is 900 kronor a lot in pounds?",
            "Wie viel sind 30 Franken in Euro?",
        ),
    ),
    Tool(
        "lookup_contact",
        "Returns phone number and address of a contact.",
        ("name: string",),
        (
            "What is {n}'s number?",
            "Where does {n} live?",
            "I need the phone number of {n}.",
            "Hast du die Adresse von {n}?",
        ),
    ),
)


IDLE = (
    "Thanks, that was all.",
    "Hello there!",
    "You are funny.",
    "Why is the sky blue?",
    "Tell me a joke.",
    "Who wrote this song?",
    "I had a lovely day.",
    "What do you think about {c}?",
    "Never mind.",
    "Good night.",
    "Merci beaucoup !",
    "I like {f}.",
    "My {o} is blue.",
    "{n} is my best friend.",
)


NONE = ("none of these", "no tool", "no_call", "answer without a tool", "nothing fits")


BACKENDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "order_db": (
        "table of orders: numbers, dates, amounts, customers",
        (
            "Sum of all orders of {n} in May?",
            "List orders over 500 dollars from {c}.",
            "How many {p}s were ordered on {d}?",
            "When was order 4471 placed?",
        ),
    ),
    "handbook": (
        "the staff handbook: rules, holidays, expenses, conduct",
        (
            "May I work from abroad for two weeks?",
            "How many days off do I get when I move house?",
            "Who pays for my train to the fair?",
            "What must I wear in the lab?",
        ),
    ),
    "code_search": (
        "index of our source code",
        (
            "Where do we parse the config?",
            "Who calls the function send_invoice?",
            "In which module is the retry logic?",
            "Show usages of the class Parser.",
        ),
    ),
    "web": (
        "the public internet, for news and everything that changes outside",
        (
            "Is there a strike at the airport today?",
            "What does the new tax law say?",
            "Exchange rate of the krone right now?",
            "Is the motorway near {c} closed today?",
        ),
    ),
    "calculator": (
        "exact arithmetic",
        ("What is 3.7 % of 81,220?", "1289 times 34?", "How much is 2 to the power of 20?", "Split 1,750 by seven."),
    ),
    "calendar": (
        "appointments and free times of colleagues",
        (
            "Is {n} free on {d} at two?",
            "When is my next meeting with {n}?",
            "Find an hour for the four of us.",
            "What do I have on {d}?",
        ),
    ),
    "crm_notes": (
        "notes of talks with customers",
        (
            "What did {n} complain about in our last talk?",
            "Has anyone promised {n} a discount?",
            "Summarise what we know about the wishes of {n}.",
            "Why did the customer from {c} leave us?",
        ),
    ),
    "direct_reply": (
        "no lookup: greetings, rewriting, translating, small talk",
        (
            "Rewrite this in a friendlier tone: Send the papers.",
            "Good morning!",
            "Say 'see you soon' in Italian.",
            "Correct the spelling: teh haus is bigg.",
        ),
    ),
}
