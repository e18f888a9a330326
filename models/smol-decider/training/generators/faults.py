"""Kinds of faults in code, each with faulty and sound versions."""

from __future__ import annotations

import attrs


@attrs.frozen
class Fault:
    """A kind of fault: its name, what it is, questions for it, and pairs of faulty and sound code."""

    name: str
    means: str
    questions: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]


FAULTS = (
    Fault(
        "off_by_one",
        "a loop or index goes one step too far or stops one too early",
        ("Does it go one step too far or stop one too early?", "Is there an off-by-one error?"),
        (
            ("for i in range(len({x}) + 1):\n    print({x}[i])", "for i in range(len({x})):\n    print({x}[i])"),
            ("last = {x}[len({x})]", "last = {x}[len({x}) - 1]"),
            (
                "for (let i = 0; i <= {x}.length; i++) show({x}[i]);",
                "for (let i = 0; i < {x}.length; i++) show({x}[i]);",
            ),
            (
                "# all elements\nfor k in range(1, len({x})):\n    use({x}[k])",
                "# all elements\nfor k in range(0, len({x})):\n    use({x}[k])",
            ),
        ),
    ),
    Fault(
        "sql_injection",
        "user input is pasted into a database query",
        ("Can a user slip SQL into the query?", "Is the query open to SQL injection?"),
        (
            (
                'db.execute("SELECT * FROM {x} WHERE id = " + user_input)',
                'db.execute("SELECT * FROM {x} WHERE id = ?", (user_input,))',
            ),
            (
                "cursor.execute(f\"DELETE FROM {x} WHERE name = '{{name}}'\")",
                'cursor.execute("DELETE FROM {x} WHERE name = %s", [name])',
            ),
            (
                "query = \"UPDATE {x} SET a = '%s'\" % request.args['a']\nrun(query)",
                "run(\"UPDATE {x} SET a = :a\", a=request.args['a'])",
            ),
            (
                "conn.query(`SELECT * FROM {x} WHERE mail = '${{req.body.mail}}'`)",
                "conn.query('SELECT * FROM {x} WHERE mail = $1', [req.body.mail])",
            ),
        ),
    ),
    Fault(
        "leaked_handle",
        "a file or connection is opened and not always closed",
        ("Does a file or connection stay open if something fails?", "Is a resource leaked?"),
        (
            (
                "f = open({x}_path)\ndata = parse(f.read())\nf.close()",
                "with open({x}_path) as f:\n    data = parse(f.read())",
            ),
            (
                "def load_{x}():\n    f = open('{x}.txt')\n    return f.read()",
                "def load_{x}():\n    with open('{x}.txt') as f:\n        return f.read()",
            ),
            (
                "conn = connect()\n{x} = conn.fetch()\nif not {x}:\n    return None\nconn.close()",
                "conn = connect()\ntry:\n    {x} = conn.fetch()\nfinally:\n    conn.close()",
            ),
            (
                "s = socket.socket()\ns.connect(addr)\nsend(s, {x})\nreturn True",
                "with socket.socket() as s:\n    s.connect(addr)\n    send(s, {x})\nreturn True",
            ),
        ),
    ),
    Fault(
        "swallowed_error",
        "an exception is caught and nothing is done about it",
        ("Is an error hidden without a trace?", "Does the code silently swallow exceptions?"),
        (
            (
                "try:\n    save({x})\nexcept Exception:\n    pass",
                "try:\n    save({x})\nexcept OSError as error:\n    log.error('cannot save: %s', error)\n    raise",
            ),
            ("try {{ load({x}); }} catch (e) {{ }}", "try {{ load({x}); }} catch (e) {{ report(e); throw e; }}"),
            (
                "try:\n    {x} = int(text)\nexcept:\n    {x} = None",
                (
                    "try:\n    {x} = int(text)\nexcept ValueError:\n    "
                    "raise BadInput(f'not a number: {{text}}') from None"
                ),
            ),
            ("with suppress(Exception):\n    send({x})", "send({x})"),
        ),
    ),
    Fault(
        "mutable_default",
        "a default argument is a list or dict that all calls share",
        ("Do all calls share one default object?", "Is there a mutable default argument?"),
        (
            (
                "def add(item, {x}=[]):\n    {x}.append(item)\n    return {x}",
                "def add(item, {x}=None):\n    {x} = [] if {x} is None else {x}\n    {x}.append(item)\n    return {x}",
            ),
            (
                "def count(word, {x}={{}}):\n    {x}[word] = {x}.get(word, 0) + 1\n    return {x}",
                "def count(word, {x}):\n    {x}[word] = {x}.get(word, 0) + 1\n    return {x}",
            ),
            (
                "def collect(name, seen=set()):\n    seen.add(name)\n    return seen",
                "def collect(name, seen=frozenset()):\n    return seen | {{name}}",
            ),
        ),
    ),
    Fault(
        "division_by_zero",
        "it divides by something that may be zero",
        ("Can it divide by zero?", "Does it fail when the list is empty, because of a division?"),
        (
            (
                "def mean({x}):\n    return sum({x}) / len({x})",
                "def mean({x}):\n    if not {x}:\n        return 0.0\n    return sum({x}) / len({x})",
            ),
            ("ratio = hits / ({x}_total)", "ratio = hits / {x}_total if {x}_total else 0.0"),
            ("const avg = total / {x}.length;", "const avg = {x}.length ? total / {x}.length : 0;"),
            (
                "def share(part, {x}):\n    return part * 100 // {x}",
                "def share(part, {x}):\n    if {x} == 0:\n        return 0\n    return part * 100 // {x}",
            ),
        ),
    ),
    Fault(
        "missing_await",
        "an asynchronous call is not awaited",
        ("Was an await forgotten?", "Does it use the result of an async call before it is there?"),
        (
            (
                "async function run() {{\n  const {x} = fetchData();\n  return {x}.length;\n}}",
                "async function run() {{\n  const {x} = await fetchData();\n  return {x}.length;\n}}",
            ),
            (
                "async def main():\n    {x} = load()  # async def load()\n    print({x}.name)",
                "async def main():\n    {x} = await load()  # async def load()\n    print({x}.name)",
            ),
            (
                "async def stop({x}):\n    asyncio.sleep(1)\n    {x}.close()",
                "async def stop({x}):\n    await asyncio.sleep(1)\n    {x}.close()",
            ),
        ),
    ),
    Fault(
        "wrong_comparison",
        "it compares or assigns with the wrong operator",
        ("Is a wrong operator used in the condition?", "Is there a mistake in the comparison?"),
        (
            ("if (status = 'ready') start({x});", "if (status === 'ready') start({x});"),
            ("if {x} is 'done':\n    stop()", "if {x} == 'done':\n    stop()"),
            ("# adults only\nif age < 18:\n    admit({x})", "# adults only\nif age >= 18:\n    admit({x})"),
            (
                "if not {x} == None or len({x}) > 0:\n    use({x}[0])",
                "if {x} is not None and len({x}) > 0:\n    use({x}[0])",
            ),
        ),
    ),
    Fault(
        "missing_check",
        "a value that may be missing is used without a check",
        ("Can it fail because a value is missing?", "Is a null or missing value used without a check?"),
        (
            (
                "user = users.get(name)  # may be None\nprint(user.mail)",
                "user = users.get(name)  # may be None\nif user is not None:\n    print(user.mail)",
            ),
            (
                "const el = document.querySelector('#{x}'); // null if absent\nel.remove();",
                "const el = document.querySelector('#{x}'); // null if absent\nif (el) el.remove();",
            ),
            (
                "{x} = re.match(pattern, line)  # None without a match\nreturn {x}.group(1)",
                "{x} = re.match(pattern, line)  # None without a match\nreturn {x}.group(1) if {x} else ''",
            ),
            (
                'String s = map.get("{x}"); // may be null\nint n = s.length();',
                'String s = map.getOrDefault("{x}", "");\nint n = s.length();',
            ),
        ),
    ),
    Fault(
        "endless_loop",
        "the loop never ends",
        ("Does the loop never end?", "Will it hang forever?"),
        (
            (
                "i = 0\nwhile i < len({x}):\n    print({x}[i])",
                "i = 0\nwhile i < len({x}):\n    print({x}[i])\n    i += 1",
            ),
            ("while (true) {{\n  handle({x});\n}}", "while ({x}.length) {{\n  handle({x}.pop());\n}}"),
            ("n = 10\nwhile n != 0:\n    n -= 3", "n = 10\nwhile n > 0:\n    n -= 3"),
        ),
    ),
)


NEAR = (("wrong_comparison", "missing_check"), ("off_by_one", "endless_loop"), ("off_by_one", "wrong_comparison"))
"""Faults that one piece of code may well have together."""
