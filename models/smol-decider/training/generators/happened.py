"""Has it happened? Done, planned, refused, wished for, merely reported, or conditional: the tense decides."""

from __future__ import annotations

import random

from ..examples import Example
from .drawing import capital, coin, other, shuffled, some
from .generator import Generator, generator
from .shapes import answer, pick, pick_described
from .surfaces import framed
from .words import COMPANIES, DAYS, NAMES, SERVICES

# infinitive, past, participle, what it is about as a passive: "Has the contract been signed?"
ACTS = (
    ("sign the contract", "signed the contract", "signed the contract", "the contract", "signed"),
    ("pay the invoice", "paid the invoice", "paid the invoice", "the invoice", "paid"),
    ("repair the lift", "repaired the lift", "repaired the lift", "the lift", "repaired"),
    ("deliver the sofa", "delivered the sofa", "delivered the sofa", "the sofa", "delivered"),
    ("merge the patch", "merged the patch", "merged the patch", "the patch", "merged"),
    ("book the flight", "booked the flight", "booked the flight", "the flight", "booked"),
    ("clean the filter", "cleaned the filter", "cleaned the filter", "the filter", "cleaned"),
    ("send the parcel", "sent the parcel", "sent the parcel", "the parcel", "sent"),
    ("inform the tenants", "informed the tenants", "informed the tenants", "the tenants", "informed"),
    ("delete the account", "deleted the account", "deleted the account", "the account", "deleted"),
    ("order the paint", "ordered the paint", "ordered the paint", "the paint", "ordered"),
    ("restart the server", "restarted the server", "restarted the server", "the server", "restarted"),
    ("publish the report", "published the report", "published the report", "the report", "published"),
    ("refund the customer", "refunded the customer", "refunded the customer", "the customer", "refunded"),
    ("feed the rabbits", "fed the rabbits", "fed the rabbits", "the rabbits", "fed"),
    ("test the alarm", "tested the alarm", "tested the alarm", "the alarm", "tested"),
)
DONE = (
    "{n} {past} on {d}.",
    "{n} has just {part}.",
    "Good news: {n} {past}, so we can go on.",
    "{n} {past} before leaving.",
    "After some trouble {n} did {inf} in the end.",
    "Done: {n} {past}.",
    "On {d}, {n} {past}; all is well.",
    "I saw with my own eyes how {n} {past}.",
    "{n} wanted to wait but {past} all the same.",
    "As planned, {n} {past} on {d}.",
    "Thanks to {n}, who {past}, we are ready.",
    "{n} had already {part} when I came.",
    "You need not remind {n}: the matter is settled, {n} {past} hours ago.",
    "At last! {n} {past}.",
    "It took three tries, but then {n} {past}.",
)
NOT_DONE = (
    "{n} will {inf} on {d}.",
    "{n} was going to {inf}, but then the phone rang and nothing came of it.",
    "{n} has yet to {inf}.",
    "If it stops raining, {n} is going to {inf}.",
    "{n} still has to {inf}.",
    "Please {inf} as soon as you can, {n}.",
    "{n} says it would be wise to {inf}, but nobody has done so until now.",
    "Had {n} not been ill, we could have asked {n} to {inf}. So it is still open.",
    "{n} forgot to {inf}.",
    "{n} refuses to {inf}.",
    "We are waiting for {n} to {inf}.",
    "{n} almost {past}, but stopped at the last moment.",
    "Tomorrow {n} is to {inf}.",
    "{n} claims to know how to {inf}, yet has not begun.",
    "Reminder for {n}: {inf}!",
)


@generator(4)
def done_or_not(r: random.Random) -> Example:
    """Was it done, or only planned, wished for, forgotten?"""
    truth, (infinitive, past, participle, thing, passive) = coin(r), r.choice(ACTS)
    name = r.choice(NAMES)
    text = r.choice(DONE if truth else NOT_DONE).format(
        n=name, inf=infinitive, past=past, part=participle, d=r.choice(DAYS)
    )
    if coin(r, 0.35):  # another matter in the other state, to read past
        other_act = other(r, ACTS, (infinitive, past, participle, thing, passive))
        second = other(r, NAMES, name)
        more = r.choice(NOT_DONE if truth else DONE).format(
            n=second, inf=other_act[0], past=other_act[1], part=other_act[2], d=r.choice(DAYS)
        )
        text = " ".join(shuffled(r, [text, more]))
    verb = "Have" if thing in ("the tenants", "the rabbits") else "Has"
    are = "Are" if verb == "Have" else "Is"
    kind = r.random()
    if kind < 0.6:
        ask = r.choice(
            (
                f"{verb} {thing} been {passive}?",
                f"Did {name} {infinitive}?",
                f"{verb} {thing} already been {passive}?",
                f"Has {name} done it: {infinitive}?",
                f"Is this done: {infinitive}?",
                f"Can we tick off '{infinitive}'?",
                f"Is it a fact that {name} {past}?",
            )
        )
        return answer(r, framed(r, text), ask, truth)
    if kind < 0.8:
        ask = r.choice(
            (
                f"{are} {thing} still waiting to be {passive}?",
                f"Must somebody still {infinitive}?",
                f"Is this still open: {infinitive}?",
                f"Does '{infinitive}' stay on the to-do list?",
            )
        )
        return answer(r, framed(r, text), ask, not truth)
    words = r.choice(
        (("done", "not done"), ("finished", "open"), ("completed", "pending"), ("yes, it happened", "no, not so far"))
    )
    return pick(r, framed(r, text), f"To-do: {infinitive}. Status?", words[not truth], [words[truth]])


STATUSES = {
    "done": (
        "it has happened",
        ("{n} {past} on {d}.", "{n} has {part}.", "Finished: {n} {past}.", "{n} {past}, as agreed."),
    ),
    "planned": (
        "it is intended and has a time",
        (
            "{n} is going to {inf} on {d}.",
            "It is fixed: {n} will {inf} on {d}.",
            "{d}'s plan: {n} is to {inf}.",
            "{n} has put it in the calendar for {d}: {inf}.",
        ),
    ),
    "refused": (
        "somebody said that it will not be done",
        (
            "{n} declined to {inf}.",
            "{n} made clear: I am not going to {inf}.",
            "{n} was asked to {inf} and said no.",
            "'Certainly not', said {n} when told to {inf}.",
        ),
    ),
    "failed": (
        "it was tried without success",
        (
            "{n} tried to {inf} but it did not work.",
            "{n} made an attempt to {inf}, in vain.",
            "In spite of all efforts {n} could not {inf}.",
            "{n} set out to {inf} and had to give up.",
        ),
    ),
    "asked for": (
        "somebody wants it and has no answer yet",
        (
            "Could you {inf}, {n}?",
            "{n}, I would be glad if you could {inf}.",
            "We have asked {n} to {inf} and wait for an answer.",
            "Dear {n}, please {inf}.",
        ),
    ),
    "uncertain": (
        "nobody knows whether it happened",
        (
            "Perhaps {n} {past}, perhaps not.",
            "I have no idea whether {n} {past}.",
            "It is unclear if {n} {past}.",
            "Some say that {n} {past}, others deny it.",
        ),
    ),
}


@generator(2.5)
def status_of_act(r: random.Random) -> Example:
    """Done, planned, refused, failed, asked for or uncertain."""
    infinitive, past, participle, _, _ = r.choice(ACTS)
    right = r.choice(list(STATUSES))
    text = r.choice(STATUSES[right][1]).format(
        n=r.choice(NAMES), inf=infinitive, past=past, part=participle, d=r.choice(DAYS)
    )
    state, wrong = framed(r, text), some(r, [status for status in STATUSES if status != right], 1, 5)
    ask = r.choice(
        (
            "What is the state of the matter?",
            "How far is it?",
            "Which status fits?",
            "Choose the status.",
            "Where does it stand?",
            "status",
        )
    )
    kind = r.random()
    if kind < 0.3:
        return pick(r, state, ask, right, wrong)
    if kind < 0.65:
        return pick_described(r, state, ask, right, {name: STATUSES[name][0] for name in [right, *wrong]})
    truth = coin(r)
    shown = STATUSES[right if truth else wrong[0]][0]
    return answer(
        r,
        state,
        r.choice(
            (
                "Does this describe it: {s}?",
                "Is it right that {s}?",
                "'{s}' - does that fit the message?",
                "Can one say that {s}?",
            )
        ).format(s=shown),
        truth,
    )


SAYINGS = (
    "{s} is slow",
    "{s} needs a new owner",
    "{s} should be closed",
    "{s} is the best part",
    "{s} costs too much",
    "{s} works well",
    "{s} is not tested",
    "{s} was moved to {c}",
)


@generator(2)
def who_said(r: random.Random) -> Example:
    """Who holds an opinion, when people quote, doubt and contradict each other."""
    a, b, c = r.sample(NAMES, 3)
    saying = r.choice(SAYINGS).format(s=r.choice(SERVICES), c=r.choice(COMPANIES))
    text, holder = r.choice(
        (
            (f"{a} told {b} that {saying}.", a),
            (f"{b} was told by {a} that {saying}.", a),
            (f"According to {a}, {saying}. {b} has not commented.", a),
            (f"{b} asked whether {saying}, and {a} said: yes.", a),
            (f"{a}: I am sure that {saying}.\n{b}: I am not.", a),
            (f"{b} doubts that {saying}, while {a} is convinced of it.", a),
            (f"Contrary to {b}, {a} thinks that {saying}.", a),
            (f"{b} quoted {a}, who had written: '{capital(saying)}.' {b} does not agree.", a),
            (f"{a} and {b} talked. '{capital(saying)}', said the former; the latter shook the head.", a),
            (f"{b} heard from {a} that {saying} and laughed at it.", a),
        )
    )
    state = framed(r, text + (f" {c} listened." if coin(r) else f" {c} was not there."))
    if coin(r):
        return pick(
            r,
            state,
            r.choice((f"Who says that {saying}?", f"Whose opinion is it that {saying}?", f"Who claims that {saying}?")),
            holder,
            [b, c],
        )
    truth = coin(r)
    name = holder if truth else r.choice((b, c))
    return answer(
        r,
        state,
        r.choice(
            (
                f"Does {name} say that {saying}?",
                f"Is it {name} who holds that {saying}?",
                f"Is {name} the source of the claim that {saying}?",
                f"Did the claim '{saying}' come from {name}?",
            )
        ),
        truth,
    )


CERTAIN = (
    "{X}.",
    "The protocol confirms: {x}.",
    "It has been checked twice: {x}.",
    "It is official: {x}.",
    "We measured it ourselves: {x}.",
    "There is no doubt that {x}.",
    "As the signed record shows, {x}.",
    "{X}; the photos prove it.",
)
UNSURE = (
    "I think {x}, but do not quote me.",
    "It could be that {x}.",
    "Somebody on the train said that {x}.",
    "{X}? I am not sure.",
    "My guess: {x}.",
    "If I remember rightly, {x}, but I would have to check.",
    "There is talk that {x}.",
    "{X}, they say, though nobody has seen it.",
)
MATTERS = (
    "the bridge is closed",
    "the firm has been sold",
    "the exam was moved",
    "the well is dry",
    "the director has left",
    "the line is interrupted",
    "the cargo is damaged",
    "the rent goes up",
)


@generator(1.5)
def sure_or_not(r: random.Random) -> Example:
    """Stated as a fact, or as a guess?"""
    truth, matter = coin(r), r.choice(MATTERS)
    text = r.choice(CERTAIN if truth else UNSURE).format(x=matter, X=capital(matter))
    state = framed(r, text)
    if coin(r, 0.7):
        ask_sure = coin(r)
        ask = r.choice(
            (
                "Is the writer certain?",
                "Is it told as a fact?",
                "Could a newspaper rely on this without asking again?",
                "Does the message speak of something certain?",
            )
            if ask_sure
            else (
                "Is it only a guess?",
                "Does the writer leave room for doubt?",
                "Should one check before passing it on?",
                "Is the writer unsure?",
            )
        )
        return answer(r, state, ask, truth == ask_sure)
    words = r.choice((("fact", "guess"), ("certain", "uncertain"), ("verified", "unverified")))
    return pick(
        r,
        state,
        r.choice(("How sure is it?", "Fact or guess?", "Label the certainty.")),
        words[not truth],
        [words[truth]],
    )


GENERATORS: tuple[Generator, ...] = (done_or_not, status_of_act, who_said, sure_or_not)
