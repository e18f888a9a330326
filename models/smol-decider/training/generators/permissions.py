"""Who may do what: role tables, ownership, groups, time limits, denials that beat grants."""

from __future__ import annotations

import random

from tiebreak.questions import JSON

from ..examples import Example
from .drawing import coin, listed, other, shuffled
from .generator import Generator, generator
from .shapes import answer, pick
from .words import NAMES

ROLES = (
    ("viewer", "editor", "owner", "auditor"),
    ("guest", "member", "moderator", "admin"),
    ("nurse", "doctor", "clerk", "pharmacist"),
    ("trainee", "cashier", "manager", "accountant"),
    ("pupil", "teacher", "caretaker", "head"),
)
ACTIONS = {
    "viewer": ("read", "comment", "write", "delete", "share", "export"),
    "guest": ("post", "read", "ban", "invite", "pin", "delete"),
    "nurse": ("see records", "change doses", "bill", "order drugs", "sign reports", "see prices"),
    "trainee": ("sell", "refund", "open the safe", "see sales", "change prices", "book payments"),
    "pupil": ("enter the lab", "use the printer", "open the gate", "see the marks", "book the hall", "use the lift"),
}


def grants(r: random.Random, roles: tuple[str, ...], actions: list[str]) -> dict[str, list[str]]:
    """Per role what it may do: something, but not all."""
    return {role: sorted(r.sample(actions, r.randint(1, len(actions) - 1)), key=actions.index) for role in roles}


def table(r: random.Random, allowed: dict[str, list[str]], actions: list[str]) -> str:
    """The grants as a table, sentences or lines."""
    form = r.random()
    if form < 0.3:
        head = "| role | " + " | ".join(actions) + " |\n|" + " --- |" * (len(actions) + 1) + "\n"
        return head + "\n".join(
            f"| {role} | " + " | ".join("yes" if action in may else "no" for action in actions) + " |"
            for role, may in allowed.items()
        )
    if form < 0.6:
        return " ".join(
            f"{'An' if role[0] in 'aeo' else 'A'} {role} may {listed(may)}, nothing else."
            for role, may in allowed.items()
        )
    return "\n".join(
        r.choice(("{r}: {m}", "{r} -> {m}", "- {r} ({m})")).format(r=role, m=", ".join(may))
        for role, may in allowed.items()
    )


@generator(3)
def role_table(r: random.Random) -> Example:
    """A person with a role wants to do something."""
    roles = r.choice(ROLES)
    actions = r.sample(ACTIONS[roles[0]], r.randint(3, 5))
    allowed = grants(r, roles, actions)
    role, name, truth = r.choice(roles), r.choice(NAMES), coin(r)
    action = r.choice([action for action in actions if (action in allowed[role]) == truth])
    rights = table(r, allowed, actions)
    if coin(r, 0.3):
        state: JSON = {"permissions": allowed, "user": {"name": name, "role": role}, "action": action}
        return answer(
            r,
            state,
            r.choice(
                ("Is the action allowed?", "May the user do it?", "Should the request be let through?", "Permit?")
            ),
            truth,
        )
    if coin(r, 0.4):
        who = r.choice(
            (
                f"{name} is a {role}." if role[0] not in "aeo" else f"{name} is an {role}.",
                f"user={name} role={role}",
                f"Role of {name}: {role}",
            )
        )
        if coin(r, 0.7):
            return answer(
                r,
                f"{rights}\n\n{who}",
                r.choice(
                    (
                        f"May {name} {action}?",
                        f"Is {name} allowed to {action}?",
                        f"Does {name} have the right to {action}?",
                        f"Would the system let {name} {action}?",
                    )
                ),
                truth,
            )
        return answer(
            r,
            f"{rights}\n\n{who}",
            r.choice(
                (
                    f"Must the attempt of {name} to {action} be blocked?",
                    f"Is {name} barred from this: {action}?",
                    f"Does {name} lack the right to {action}?",
                )
            ),
            not truth,
        )
    held = [(action, [role for role in roles if action in allowed[role]]) for action in actions]
    alone = [(action, holders[0]) for action, holders in held if len(holders) == 1]
    if alone and coin(r, 0.4):
        deed, holder = r.choice(alone)
        return pick(r, rights, f"Which role may {deed}?", holder, [role for role in roles if role != holder])
    if coin(r, 0.4):
        right = r.choice([action for action in actions if action in allowed[role]])
        return pick(
            r,
            rights,
            r.choice((f"What may a user with the role '{role}' do?", f"Which right does the role '{role}' have?")),
            right,
            [action for action in actions if action not in allowed[role]],
        )
    return answer(r, rights, f"Role: {role}. Action: {action}. Allowed?", truth)


@generator(2)
def ownership(r: random.Random) -> Example:
    """Owners may, admins may, others may if it is shared with them and not locked."""
    owner, user, friend = r.sample(NAMES, 3)
    thing = r.choice(("document", "album", "note", "project", "board", "calendar", "folder", "form"))
    truth = coin(r)
    cases = [case for case in OWNED if case[4] == truth]
    is_owner, is_admin, shared, locked, _ = r.choice(cases)
    owner = user if is_owner else owner
    rules = r.choice(
        (
            (
                "Rule: the owner and admins may always edit the {t}. Others "
                "may edit it if it is shared with them and not locked."
            ),
            (
                "Editing the {t}: allowed for its owner, for any admin, and for people "
                "it is shared with as long as it is unlocked. Everyone else: no."
            ),
            "can_edit = user is owner OR user is admin OR (user in shared_with AND NOT locked)",
            (
                "1. Owner: may edit. 2. Admin: may edit. 3. Shared with "
                "the user: may edit unless locked. 4. All others may not."
            ),
        )
    ).format(t=thing)
    people = [friend, user] if shared else [friend]
    data: JSON = {
        "type": thing,
        "owner": owner,
        "shared_with": shuffled(r, people),
        "locked": locked,
        "user": user,
        "user_is_admin": is_admin,
    }
    words = (
        f"The {thing} belongs to {owner}. It is shared with {listed(shuffled(r, people))}. "
        f"It is {'' if locked else 'not '}locked. {user} is {'an' if is_admin else 'not an'} admin."
    )
    ask = r.choice(
        (
            f"May {user} edit it?",
            f"Can {user} change the {thing}?",
            f"Is {user} allowed to edit?",
            f"Does {user} get write access?",
        )
    )
    if coin(r):
        return answer(r, data if coin(r) else words, f"{rules} {ask}", truth)
    if coin(r, 0.3):
        return answer(r, f"{rules}\n\n{words}", f"Must {user} be refused when trying to edit?", not truth)
    return answer(r, f"{rules}\n\n{words}", ask, truth)


OWNED = tuple(
    (is_owner, is_admin, shared, locked, is_owner or is_admin or (shared and not locked))
    for is_owner in (False, True)
    for is_admin in (False, True)
    for shared in (False, True)
    for locked in (False, True)
    if not (is_owner and shared)
)


@generator(1.5)
def deny_wins(r: random.Random) -> Example:
    """Several grants and denials for groups; a denial wins."""
    groups = r.sample(("staff", "sales", "night shift", "interns", "drivers", "board", "beta testers"), 4)
    rights = r.sample(
        ("print", "export", "view salaries", "use the van", "order goods", "enter the roof", "log in from home"), 3
    )
    right, truth = rights[0], coin(r)
    mine = r.sample(groups, 2)
    outside = [group for group in groups if group not in mine]
    lines = []
    if truth:
        lines.append(f"allow {right}: {r.choice(mine)}")
        lines.append(f"deny {right}: {r.choice(outside)}")
    elif coin(r):
        lines.append(f"allow {right}: {mine[0]}")
        lines.append(f"deny {right}: {mine[1]}")
    else:
        lines.append(f"allow {right}: {r.choice(outside)}")
    lines += [f"{r.choice(('allow', 'deny'))} {more}: {r.choice(groups)}" for more in rights[1:]]
    name = r.choice(NAMES)
    text = "\n".join(shuffled(r, lines))
    rule = r.choice(
        (
            "A denial beats a grant; without a grant nothing is allowed.",
            "Deny wins over allow. Default: deny.",
            "If any group of the user is denied, the answer is no; otherwise at least one group must be allowed.",
        )
    )
    who = r.choice(
        (
            f"{name} is in the groups {mine[0]} and {mine[1]}.",
            f"groups({name}) = {mine[0]}, {mine[1]}",
            f"{name}: member of {mine[1]} and {mine[0]}.",
        )
    )
    if coin(r):
        state: JSON = {"rules": text.split("\n"), "user": name, "groups": mine}
        return answer(r, state, f"{rule} May {name} do this: {right}?", truth)
    return answer(
        r,
        f"{rule}\n{text}\n{who}",
        r.choice(
            (f"Is {name} allowed to {right}?", f"May {name} {right}?", f"Does {name} end up with the right to {right}?")
        ),
        truth,
    )


@generator(1.5)
def who_may_approve(r: random.Random) -> Example:
    """Approval limits by rank: who has to sign?"""
    ranks = r.choice(
        (
            ("clerk", "team lead", "director", "board"),
            ("buyer", "manager", "vice president", "president"),
            ("assistant", "doctor", "head physician", "clinic council"),
        )
    )
    limits = sorted(r.sample((50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000), 3))
    place = r.randrange(4)
    low = limits[place - 1] + 1 if place else 1
    high = limits[place] if place < 3 else limits[-1] * 3
    amount = r.choice((r.randint(low, high), high if place < 3 else high - 7, low))
    text = r.choice(("; ", "\n", ", then ")).join(
        [f"up to ${limit}: {rank}" for rank, limit in zip(ranks, limits, strict=False)] + [f"above that: {ranks[-1]}"]
    )
    case = r.choice(
        (
            "{n} wants to spend ${a}.",
            "Order of {n}: ${a}",
            "amount={a} requested_by={n}",
            "{n} asks for ${a} for a new machine.",
            "Purchase request, ${a}, from {n}",
            "The bill that {n} hands in is ${a}.",
        )
    ).format(n=r.choice(NAMES), a=amount)
    ask = r.choice(
        (
            "Who has to approve it?",
            "Whose signature is enough and needed?",
            "Who decides?",
            "To whom does it go for approval?",
        )
    )
    right = ranks[place]
    if coin(r, 0.35):
        truth = coin(r)
        shown = right if truth else other(r, ranks, right)
        return answer(r, f"{text}\n{case}", f"{ask} Is it the {shown}?", truth)
    if coin(r):
        return pick(r, case, f"Limits: {text}. {ask}", right, [rank for rank in ranks if rank != right])
    return pick(r, f"Approval limits\n{text}\n\n{case}", ask, right, [rank for rank in ranks if rank != right])


GENERATORS: tuple[Generator, ...] = (role_table, ownership, deny_wins, who_may_approve)
