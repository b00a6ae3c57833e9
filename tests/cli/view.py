"""view.py CASE PORT [PROCESS | COMMAND]: asks the server of carom run --view, with nothing but sockets."""
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time

CASE, PORT = sys.argv[1], int(sys.argv[2])


def connect():
    client = socket.create_connection(("127.0.0.1", PORT), timeout=60)
    return client


def answer(client):
    """Status, fields and body of one answer."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = client.recv(65536)
        if not more:
            return 0, {}, b""
        data += more
    head, body = data.split(b"\r\n\r\n", 1)
    lines = head.decode().split("\r\n")
    fields = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}
    while len(body) < int(fields["content-length"]):
        more = client.recv(1 << 20)
        if not more:
            break
        body += more
    return int(lines[0].split()[1]), fields, body


def ask(path, method="GET", host=None, more="", client=None):
    client = client or connect()
    client.sendall(f"{method} {path} HTTP/1.1\r\nHost: {host or f'127.0.0.1:{PORT}'}\r\n{more}\r\n".encode())
    return answer(client) if method != "HEAD" else head_of(client)


def head_of(client):
    client.settimeout(2)
    data = b""
    while b"\r\n\r\n" not in data:
        data += client.recv(65536)
    rest = data.split(b"\r\n\r\n", 1)[1]
    assert not rest, "HEAD has a body"
    return int(data.split()[1]), {}, b""


def page():
    """The page, which is there as soon as the run has made its bodies."""
    for _ in range(600):
        status, fields, body = ask("/")
        if status != 503:
            assert status == 200, status
            return fields, body
        time.sleep(0.05)
    raise SystemExit("no page")


def records(body):
    at, found = 0, []
    while at < len(body):
        kind, number, size, so_far = struct.unpack_from("<4I", body, at)
        found.append((kind, number, body[at + 16 : at + 16 + size], so_far))
        assert len(found[-1][2]) == size
        at += 16 + size
    return found


def facts(frame):
    (size,) = struct.unpack_from("<I", frame)
    told = json.loads(frame[4 : 4 + size])
    assert 4 + size + sum(block[1] for block in told["blocks"]) == len(frame)
    return told


def point_facts(frame, name):
    """The first eight numbers of a block of points, and how many numbers it has (web/track.h: differences, folded, as planes of bytes)."""
    at = 4 + struct.unpack_from("<I", frame)[0]
    for block, size in facts(frame)["blocks"]:
        if block == name:
            count, stride = struct.unpack_from("<2I", frame, at + 4)
            assert stride == 8 and size == 16 + 4 * count
            folded = [sum(frame[at + 16 + plane * count + i] << 8 * plane for plane in range(4)) for i in range(8)]
            return [(z >> 1) ^ -(z & 1) for z in folded], count
        at += size
    raise SystemExit(f"no block {name}")


def frames(after, client=None):
    status, fields, body = ask(f"/frames?after={after}", client=client)
    assert status == 200 and fields["content-type"] == "application/octet-stream", status
    return records(body)


def follow(until):
    """Frames, one answer after the other on one connection, until a record satisfies a condition."""
    client, last, all_records = connect(), 0, []
    while True:
        for record in frames(last, client):
            all_records.append(record)
            last = record[1]
            if until(record):
                return all_records


def check_whole():
    """The whole run, which the client starts itself: it must be there before the run ends."""
    global PORT
    run = subprocess.Popen(sys.argv[3:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    PORT = int(re.fullmatch(r"carom: view: http://127\.0\.0\.1:(\d+)/\n", run.stderr.readline()).group(1))
    fields, body = page()
    assert fields["content-type"] == "text/html; charset=utf-8" and b"connect-src 'self'" in body
    assert body.rstrip().endswith(b"</html>")
    found = follow(lambda record: record[0] == 2)
    told = [facts(record[2]) for record in found[:-1]]
    assert told[0]["step"] == 0 and told[0]["row"] == "" and told[-1]["step"] == 2000
    assert [one["step"] for one in told] == sorted({one["step"] for one in told})
    assert all(one["row"].startswith(f"{one['step']},") for one in told[1:])
    assert [block[0] for block in told[0]["blocks"]] == ["poses", "contacts", "vertices", "points-vertices", "spheres", "points-spheres"]
    for name, kinds in (("points-vertices", (1, 2)), ("points-spheres", (3,))):
        for record in (found[0], found[-2]):
            told_points, count = point_facts(record[2], name)
            assert told_points[0] == 1 and told_points[5:] == [0, 0, 0], (name, told_points)
            assert count == 8 * (told_points[4] + 1) and sum(told_points[k] for k in kinds) == sum(told_points[1:4]) == told_points[4], (name, told_points)
    assert point_facts(found[-2][2], "points-spheres")[0][4] > 0, "no contacts of spheres at the end"
    assert found[-1][2].decode() == "The run has ended, after 2000 of 2000 steps.", found[-1]
    assert run.wait() == 0, run.stderr.read()


def check_refusals():
    page()
    for status, path, more in [
        (403, "/", {"host": "example.org"}), (403, "/", {"host": f"localhost.example.org:{PORT}"}), (403, "/frames?after=0", {"host": "127.0.0.1"}),
        (404, "/index.html", {}), (404, "/../../etc/passwd", {}), (404, "/frames/1", {}), (400, "/frames?after=x", {}),
        (405, "/", {"method": "POST"}), (405, "/", {"method": "DELETE"}), (400, "/", {"more": "Content-Length: 3\r\n"}),
        (200, "/", {"host": f"localhost:{PORT}"}), (200, "/", {"method": "HEAD"}),
    ]:
        told, fields, body = ask(path, **more)
        assert told == status, (path, more, told)
        assert "access-control-allow-origin" not in fields
        assert status == 200 or (body.startswith(str(status).encode()) and fields["connection"] == "close"), (path, body)
    # More than one request in a packet, and one in pieces.
    client = connect()
    one = f"GET /frames?after=0 HTTP/1.1\r\nHost: 127.0.0.1:{PORT}\r\n\r\n".encode()
    for piece in (one[:20], one[20:] + one):
        client.sendall(piece)
        time.sleep(0.05)
    client.close()
    # What is no HTTP at all.
    client = connect()
    client.sendall(b"\x16\x03\x01\x02\x00\x01\x00" + bytes(9000))
    assert answer(client)[0] in (400, 431)
    # Not from outside: another address of this machine has no such port.
    for address in {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {"127.0.0.1"}:
        if address.startswith("127."):
            continue
        try:
            socket.create_connection((address, PORT), timeout=2)
        except OSError:
            continue
        raise SystemExit(f"the port is open at {address}")


def steps_now():
    return facts(follow(lambda record: record[1] >= 1)[-1][2]) and follow(lambda record: record[1] == record[3])[-1]


def check_slow():
    """Connections that ask and do not read, that send half a request, and that say nothing: the run goes on, and others are answered."""
    held = []
    for i in range(12):
        client = connect()
        if i % 3 == 0:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.sendall(f"GET /frames?after=0 HTTP/1.1\r\nHost: 127.0.0.1:{PORT}\r\n\r\n".encode())
        elif i % 3 == 1:
            client.sendall(b"GET / HTTP/1.1\r\nHo")
        held.append(client)
    before = facts(steps_now()[2])["step"]
    end = time.time() + 60
    while time.time() < end:
        if facts(steps_now()[2])["step"] > before:
            break
    else:
        raise SystemExit("the run stands still")
    for client in held:
        client.close()


def check_interrupted():
    process = int(sys.argv[3])
    follow(lambda record: record[1] >= 3)
    os.kill(process, signal.SIGINT)
    end = follow(lambda record: record[0] == 2)[-1]
    assert b"was interrupted, after" in end[2], end


def check_killed():
    process = int(sys.argv[3])
    client = connect()
    frames(0, client)
    os.kill(process, signal.SIGKILL)
    last = 0
    while True:
        found = frames(last, client)
        last = found[-1][1] if found else last
        if any(record[0] == 2 for record in found):
            assert b"is gone" in found[-1][2], found[-1][2]
            break
    check_gone()


def check_gone():
    for _ in range(200):
        try:
            connect().close()
        except ConnectionRefusedError:
            return
        time.sleep(0.05)
    raise SystemExit("the server is still there")


{"whole": check_whole, "refusals": check_refusals, "slow": check_slow, "interrupted": check_interrupted, "killed": check_killed, "gone": check_gone}[CASE]()
