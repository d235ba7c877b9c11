"""A mail server that answers as it is asked to, for tests.

The name before the @ decides. A number is the server's answer; the words are:

    close   the connection is cut            hang   nothing more is said

    sender       451 550 …  to MAIL FROM      auth  takes nobody who has not signed in
    recipient    450 550 …  to RCPT TO        421   and the connection is closed
                 data-451, data-554, data-close, data-hang  to the mail itself
                 quit-hang                                  after the mail was taken

Whoever signs in is "user" with "p@ss:word/CANARY". What is taken is written to FOLDER/mails as JSON, read by Python's own mail parser.
"""

import asyncio
import email
import email.policy
import json
import os
import re
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult

folder = sys.argv[1]
count = 0


def wish(address):
    """What the name before the @ asks for; what follows a + tells tests apart."""
    return address.split("@")[0].split("+")[0]


async def answer(server, word):
    """The answer that a word stands for, or None."""
    if re.fullmatch(r"[45]\d\d", word):
        if word == "421":
            asyncio.get_running_loop().call_later(0.05, server.transport.close)
        return f"{word} 5.0.0 said because it was asked for"
    if word == "close":
        server.transport.abort()
        return "421 gone"
    if word == "hang":
        await asyncio.sleep(3600)
    return None


class Handler:
    async def handle_MAIL(self, server, session, envelope, address, options):
        word = wish(address)
        if word == "auth" and not session.authenticated:
            return "530 5.7.0 Authentication required"
        said = await answer(server, word)
        if said:
            return said
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(self, server, session, envelope, address, options):
        said = await answer(server, wish(address))
        if said:
            return said
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        for address in envelope.rcpt_tos:
            if wish(address).startswith("data-"):
                said = await answer(server, wish(address)[5:])
                if said:
                    return said
            if wish(address) == "quit-hang":
                session.quit_hangs = True
        return f"250 OK kept as {self.keep(server, session, envelope)}"

    async def handle_QUIT(self, server, session, envelope):
        if getattr(session, "quit_hangs", False):
            await asyncio.sleep(3600)
        return "221 Bye"

    def keep(self, server, session, envelope):
        global count
        count += 1
        raw = envelope.content
        mail = email.message_from_bytes(raw, policy=email.policy.default)
        body = lambda kind: (part := mail.get_body((kind,))) and part.get_content()
        kept = {
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "tls": server.transport.get_extra_info("ssl_object") is not None,
            "signed_in": bool(session.authenticated),
            "headers": {name: str(value) for name, value in mail.items()},
            "defects": [str(defect) for part in mail.walk() for defect in part.defects],
            "text": body("plain"),
            "html": body("html"),
            "longest_line": max(len(line) for line in raw.splitlines()),
        }
        name = os.path.join(folder, "mails", f"{count:05}.json")
        with open(name + ".part", "w") as out:
            json.dump(kept, out)
        os.rename(name + ".part", name)
        return f"{count:05}"


def authenticate(server, session, envelope, mechanism, data):
    good = data.login == b"user" and data.password == b"p@ss:word/CANARY"
    # Its own word for no is 535.
    return AuthResult(success=good, handled=False)


async def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(folder, "server.pem"), os.path.join(folder, "server.key"))
    handler = Handler()

    def speaks(**more):
        return lambda: SMTP(handler, hostname="localhost", ident="tests", loop=asyncio.get_running_loop(), **more)

    signs_in = {"authenticator": authenticate, "auth_require_tls": False}
    loop = asyncio.get_running_loop()
    servers = {
        "starttls": await loop.create_server(speaks(tls_context=context, enable_SMTPUTF8=True, **signs_in), "127.0.0.1", 0),
        "smtps": await loop.create_server(speaks(**signs_in), "127.0.0.1", 0, ssl=context),
        # It offers neither encryption nor a way to sign in.
        "plain": await loop.create_server(speaks(), "127.0.0.1", 0),
    }
    ports = {name: server.sockets[0].getsockname()[1] for name, server in servers.items()}
    name = os.path.join(folder, "ports.json")
    with open(name + ".part", "w") as out:
        json.dump(ports, out)
    os.rename(name + ".part", name)
    await asyncio.Event().wait()


asyncio.run(main())
