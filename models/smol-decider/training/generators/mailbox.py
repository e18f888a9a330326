"""Incoming messages: advertising and fraud, urgency, whether an answer or an action is needed, their language."""

from __future__ import annotations

import random

from ..examples import Example
from .drawing import coin, some
from .generator import Generator, generator
from .shapes import answer, level, pick, pick_described
from .surfaces import framed
from .words import CITIES, COMPANIES, DAYS, NAMES, PRODUCTS

SPAM = (
    "You have been chosen! Claim your {p} today, only {k} left, click here: {u}",
    (
        "Dear friend, I am the widow of a minister and need help to "
        "move {m} million dollars. Reply with your bank details."
    ),
    "Your parcel is held back. Pay 1.99 at {u} within 24 hours or it will be destroyed.",
    "Earn {m}00 dollars a day from home. No experience. Sign up: {u}",
    "FINAL NOTICE: your mailbox is full, confirm your password at {u} to keep it.",
    "Lose 12 kilos in two weeks without sport! Doctors are stunned. Order now.",
    "Your account at {co} was locked. Log in through this link at once: {u}",
    "Cheap {p}s, 90% off, today only, buy buy buy!!!",
    "Hot stock tip: this share will rise tenfold by {d}. Act before it is too late.",
    "Hi mum, this is my new number, my phone broke. Can you transfer 800 to this account today?",
    "Gratis {p}! Nur heute! Jetzt klicken: {u}",
    "Vous avez gagné un {p}. Envoyez votre numéro de carte pour le recevoir.",
    "We noticed a problem with your tax refund of {m}4 dollars. Enter your card at {u}.",
    "Hello dear, I saw your picture and want to know you. Write me on {u}, I am lonely.",
    "Casino bonus! {m}0 free spins wait for you at {u}. No deposit.",
    "Boost your page: 10,000 followers for 9 dollars. Order at {u}.",
)
HAM = (
    "Hi {n}, are you free for lunch on {d}?",
    "Your order of a {p} has been shipped and should arrive on {d}.",
    "Minutes of the meeting with {co} are attached, please check point 3.",
    "Reminder: dentist on {d} at 9:30. Call us if you cannot come.",
    "{n} has commented on your document: 'looks good to me'.",
    "The train to {c} on {d} is cancelled. Your ticket is valid on all other trains.",
    "Could you send me the figures for {c} before {d}?",
    "Happy birthday, {n}! See you at the party.",
    "We have received your payment for the {p}. Thank you.",
    "Your password was changed on {d}. If it was you, you need not do anything.",
    "The library books are due on {d}; you can renew them at the desk.",
    "Schöne Grüße aus {c}, das Wetter ist herrlich.",
    "Bonjour {n}, la réunion est reportée à {d}.",
    "Our newsletter for members: new opening hours and the programme for May, as you subscribed to.",
    "I won the chess game against {n}! Free evening on {d}?",
    "Please find the invoice for the {p} that you ordered last week enclosed.",
)


def filled(r: random.Random, text: str) -> str:
    """The text with its slots filled."""
    return text.format(
        p=r.choice(PRODUCTS),
        n=r.choice(NAMES),
        c=r.choice(CITIES),
        co=r.choice(COMPANIES),
        d=r.choice(DAYS),
        k=r.randint(2, 9),
        m=r.randint(2, 9),
        u=r.choice(("win-now.example", "secure-check.example/login", "bit.example/x7", "offers.example")),
    )


@generator(2.5)
def spam_or_not(r: random.Random) -> Example:
    """Advertising or fraud, or an ordinary message."""
    truth = coin(r)
    state = framed(r, filled(r, r.choice(SPAM if truth else HAM)))
    if coin(r, 0.6):
        ask_spam = coin(r, 0.65)
        ask = r.choice(
            (
                "Is it spam?",
                "Should the filter catch this?",
                "Is it fraud or unwanted advertising?",
                "Junk?",
                "Would you warn an old aunt about this message?",
                "Is somebody trying to cheat or to sell something unasked?",
            )
            if ask_spam
            else (
                "Is it an ordinary message?",
                "Should it go to the inbox?",
                "Can the reader trust it?",
                "Is it legitimate?",
            )
        )
        return answer(r, state, ask, truth == ask_spam)
    words = r.choice(
        (("spam", "ham"), ("junk", "inbox"), ("block", "deliver"), ("unwanted", "wanted"), ("suspicious", "normal"))
    )
    if coin(r):
        return pick_described(
            r,
            state,
            "Where does it go?",
            words[not truth],
            {
                words[0]: "advertising nobody asked for, fraud, phishing",
                words[1]: "private or business mail, notices of services in use",
            },
        )
    return pick(
        r,
        state,
        r.choice(("Classify the message.", "Spam filter decision?", "Which folder?", "Verdict?")),
        words[not truth],
        [words[truth]],
    )


NEEDS = {
    "answer": (
        "the sender waits for a reply",
        (
            "Can you come on {d}? Let me know.",
            "Which of the two {p}s do you prefer? I have to order today.",
            "Do you still have the key of the office in {c}?",
            "Kannst du mir bis {d} Bescheid geben?",
            "What shall I tell {n}?",
        ),
    ),
    "action": (
        "the reader has to do something, no reply needed",
        (
            "Please put the bins out on {d}; no need to write back.",
            "Pay the enclosed bill by {d}.",
            "Fill in the form and bring it on {d}.",
            "Restart the {p} tonight, please. I shall see in the log that it worked.",
            "Bitte den Schlüssel am {d} unter die Matte legen.",
        ),
    ),
    "read": (
        "it only informs",
        (
            "For your information: {co} has moved to {c}.",
            "{n} has arrived safely in {c}.",
            "The lift works again. Nothing to do for you.",
            "Nur zur Kenntnis: das Büro in {c} ist am {d} geschlossen.",
            "The report was sent to {n}; all done.",
        ),
    ),
    "delete": ("worthless or fraud", SPAM[:8]),
}


@generator(2.5)
def what_it_needs(r: random.Random) -> Example:
    """Does a message need an answer, an action, only reading, or the bin?"""
    right = r.choice(list(NEEDS))
    state = framed(r, filled(r, r.choice(NEEDS[right][1])))
    wrong = some(r, [need for need in NEEDS if need != right], 1, 3)
    kind = r.random()
    if kind < 0.45:
        return pick_described(
            r,
            state,
            r.choice(
                ("What does the message need?", "What next with this mail?", "Choose the button.", "How to handle it?")
            ),
            right,
            {need: NEEDS[need][0] for need in [right, *wrong]},
        )
    if kind < 0.6:
        return pick(
            r, state, "Which description fits the message?", NEEDS[right][0], [NEEDS[need][0] for need in wrong]
        )
    truth = coin(r)
    shown = right if truth else wrong[0]
    asks = {
        "answer": (
            "Does the sender expect a reply?",
            "Is a reply called for?",
            "Would silence leave the sender waiting?",
        ),
        "action": (
            "Is there something to do, apart from replying?",
            "Does the message give the reader a job?",
            "Must the reader act, though not write?",
        ),
        "read": (
            "Is it purely for information?",
            "Can it be filed after reading, with nothing to do?",
            "Does it ask nothing of the reader?",
        ),
        "delete": ("Is it worthless or fraud?", "Is the bin the right place?", "Should it be thrown away unread?"),
    }[shown]
    return answer(r, state, r.choice(asks), truth)


URGENT = (
    (
        "not urgent",
        (
            "Some day we might repaint the {p} shelf.",
            "No hurry at all: think about a name for the club.",
            "Whenever you are next in {c}, drop in.",
            "An idea for next year: a shop in {c}.",
        ),
    ),
    (
        "somewhat urgent",
        (
            "Please send the figures by the end of next week.",
            "Somebody ought to see to the {p} before the weekend.",
            "Could you answer {n} this week?",
            "The lease in {c} ends next month; we need a decision in two weeks.",
        ),
    ),
    (
        "very urgent",
        (
            "The basement is filling with water, come at once!",
            "{n} is unconscious, call a doctor now!",
            "The show starts in ten minutes and the {p} is dead, help!",
            "We need the signature within the hour or the deal with {co} is lost.",
        ),
    ),
)


@generator(2)
def urgency(r: random.Random) -> Example:
    """How urgent a message is."""
    gold = r.randrange(3)
    state = framed(r, filled(r, r.choice(URGENT[gold][1])))
    ask = r.choice(("How urgent is it?", "Rate the urgency.", "How soon must somebody react?", "Urgency?"))
    kind = r.random()
    if kind < 0.45:
        return level(state, ask, [name for name, _ in URGENT], gold)
    if kind < 0.65:
        return pick(r, state, ask, URGENT[gold][0], [name for name, _ in URGENT if name != URGENT[gold][0]])
    truth = coin(r)
    if truth:
        gold = r.choice((0, 2))
        state = framed(r, filled(r, r.choice(URGENT[gold][1])))
        return answer(r, state, "Must somebody react at once?" if gold == 2 else "Can it wait for weeks?", True)
    return answer(r, state, "Must somebody react at once?" if gold < 2 else "Can it wait for weeks?", False)


LANGUAGES = {
    "German": (
        "Der Zug nach {c} fährt heute nicht.",
        "Können Sie mir bitte helfen?",
        "Ich habe gestern {n} getroffen.",
        "Das ist leider zu teuer.",
    ),
    "French": (
        "Le train pour {c} est en retard.",
        "Pouvez-vous m'aider, s'il vous plaît ?",
        "J'ai vu {n} hier soir.",
        "C'est malheureusement trop cher.",
    ),
    "Spanish": (
        "El tren a {c} sale a las ocho.",
        "¿Puede ayudarme, por favor?",
        "Ayer vi a {n} en la calle.",
        "Es demasiado caro para mí.",
    ),
    "Italian": (
        "Il treno per {c} parte fra poco.",
        "Può aiutarmi, per favore?",
        "Ieri ho visto {n} al mercato.",
        "È troppo caro per me.",
    ),
    "Dutch": (
        "De trein naar {c} rijdt vandaag niet.",
        "Kunt u mij alstublieft helpen?",
        "Ik heb gisteren {n} gezien.",
        "Dat is helaas te duur.",
    ),
    "Portuguese": (
        "O comboio para {c} parte às oito.",
        "Pode ajudar-me, por favor?",
        "Ontem vi {n} na rua.",
        "Não tenho tempo hoje à noite.",
    ),
    "Polish": (
        "Pociąg do {c} jest opóźniony.",
        "Czy może mi pan pomóc?",
        "Wczoraj widziałem {n} na ulicy.",
        "To niestety za drogo.",
    ),
    "Swedish": (
        "Tåget till {c} går inte i dag.",
        "Kan du hjälpa mig, tack?",
        "Jag såg {n} i går kväll.",
        "Det är tyvärr för dyrt.",
    ),
    "Turkish": (
        "{c} treni bugün geç kalıyor.",
        "Bana yardım eder misiniz lütfen?",
        "Dün akşam {n} ile konuştum.",
        "Bu maalesef çok pahalı.",
    ),
    "English": (
        "The train to {c} is late today.",
        "Could you help me, please?",
        "I saw {n} in the street yesterday.",
        "I am afraid that is too expensive.",
    ),
    "Russian": (
        "Поезд сегодня опаздывает.",
        "Вы не могли бы мне помочь?",
        "Вчера я видел его на улице.",
        "К сожалению, это слишком дорого.",
    ),
    "Greek": (
        "Το τρένο σήμερα αργεί.",
        "Μπορείτε να με βοηθήσετε, παρακαλώ;",
        "Χθες τον είδα στον δρόμο.",
        "Δυστυχώς είναι πολύ ακριβό.",
    ),
}


@generator(1.5)
def which_language(r: random.Random) -> Example:
    """The language of a sentence."""
    right = r.choice(list(LANGUAGES))
    text = filled(r, r.choice(LANGUAGES[right]))
    if coin(r, 0.35):
        truth = coin(r)
        shown = right if truth else r.choice([name for name in LANGUAGES if name != right])
        return answer(
            r,
            text,
            r.choice(
                (
                    "Is this {l}?",
                    "Was this written in {l}?",
                    "Would a reader of {l} understand this?",
                    "Should it go to the {l} team?",
                )
            ).format(l=shown),
            truth,
        )
    return pick(
        r,
        text,
        r.choice(
            ("Which language is it?", "Language?", "In which language is the message written?", "Choose the language.")
        ),
        right,
        some(r, [name for name in LANGUAGES if name != right], 1, 9),
    )


GENERATORS: tuple[Generator, ...] = (spam_or_not, what_it_needs, urgency, which_language)
