from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tiebreak_embedded.checkpoints import CheckpointTree, SavingPolicy

prompts = st.lists(st.integers(0, 2), min_size=1, max_size=8).map(tuple)
actions = st.lists(
    st.tuples(st.sampled_from(["put", "find", "pin", "unpin", "discard"]), prompts, st.integers(1, 60)),
    max_size=60,
)


@given(actions)
def test_the_tree_is_a_bounded_map_with_longest_prefix_lookup(
    actions: list[tuple[str, tuple[int, ...], int]],
) -> None:
    tree = CheckpointTree(max_bytes=200, max_entries=5)
    held: dict[tuple[int, ...], bytearray] = {}  # least recently used first
    pins: dict[tuple[int, ...], int] = {}
    for action, tokens, size in actions:
        if action == "put":
            state = bytearray(size)
            fixed = [t for t in held if pins.get(t) and t != tokens]
            room = sum(4 * len(t) + len(held[t]) for t in fixed) + size + 4 * len(tokens) <= 200
            assert tree.put(tokens, state) == (room and len(fixed) < 5)
            if room and len(fixed) < 5:
                held.pop(tokens, None)
                held[tokens] = state
                while sum(4 * len(t) + len(s) for t, s in held.items()) > 200 or len(held) > 5:
                    del held[next(t for t in held if not pins.get(t) and t != tokens)]
        elif action == "find":
            known = [tokens[:n] for n in range(len(tokens), 0, -1) if tokens[:n] in held]
            found = tree.find(tokens)
            assert (found is not None) == bool(known)
            if found is not None:
                assert found.tokens == len(known[0])
                assert found.state is held[known[0]]
                held[known[0]] = held.pop(known[0])
        elif action == "pin":
            assert tree.pin(tokens) == (tokens in held)
            pins[tokens] = pins.get(tokens, 0) + (tokens in held)
        elif action == "unpin":
            assert tree.unpin(tokens) == bool(pins.get(tokens))
            pins[tokens] = max(0, pins.get(tokens, 0) - 1)
        else:
            assert tree.discard(tokens) == (held.pop(tokens, None) is not None)
            pins.pop(tokens, None)
        assert list(tree) == list(held)
        stats = tree.stats()
        assert stats.entries == len(tree) == len(held) <= 5
        assert stats.bytes == sum(4 * len(t) + len(s) for t, s in held.items()) <= 200
        assert stats.pinned == sum(1 for t in held if pins.get(t))


def test_the_limit_keeps_tokens_to_decode() -> None:
    tree = CheckpointTree()
    tree.put((1, 2, 3), bytearray(b"long"))
    tree.put((1, 2), bytearray(b"short"))
    found = tree.find((1, 2, 3), limit=2)
    assert found is not None
    assert found.state == b"short"


def test_counters_say_what_happened() -> None:
    tree = CheckpointTree(max_bytes=1000, max_entries=1)
    assert tree.find((1,)) is None
    tree.put((1,), bytearray(1))
    tree.put((2,), bytearray(1))
    assert tree.find((2, 9)) is not None
    assert not tree.put((3,), bytearray(2000))
    stats = tree.stats()
    assert (stats.hits, stats.misses, stats.evictions, stats.declined) == (1, 1, 1, 1)


def test_a_pinned_checkpoint_outlives_the_rotation() -> None:
    tree = CheckpointTree(max_bytes=1000, max_entries=2)
    tree.put((0,), bytearray(1))
    assert tree.pin((0,))
    for token in range(1, 50):
        tree.put((token,), bytearray(1))
    assert tree.peek((0,)) is not None
    assert tree.unpin((0,))
    tree.put((99,), bytearray(1))
    tree.put((98,), bytearray(1))
    assert tree.peek((0,)) is None


def test_clearing_forgets_all() -> None:
    tree = CheckpointTree()
    tree.put((1, 2), bytearray(5))
    tree.clear()
    assert (len(tree), tree.stats().bytes, tree.find((1, 2))) == (0, 0, None)


def test_a_prefix_met_twice_is_worth_saving() -> None:
    policy = SavingPolicy()
    assert [policy.worth((1, 2)), policy.worth((1, 3)), policy.worth((1, 2))] == [False, False, True]


def test_what_was_met_long_ago_is_forgotten() -> None:
    policy = SavingPolicy(memory=2)
    for token in (1, 2, 3):
        policy.worth((token,))
    assert not policy.worth((1,))
    assert policy.worth((3,))
