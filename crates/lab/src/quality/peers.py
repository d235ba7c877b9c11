"""Speaks with PDFium and MuPDF, and measures commands.

words FILE             their words, as JSON; null where a reader refuses the file
pdfium FILE...         reads all text with PDFium and prints nothing, to be measured
cost RUNS -- CMD...    least processor seconds and most memory (MiB) of a command
large OUT PAGES FILE   repeats a file's pages until there are so many
"""

import json
import os
import sys


def pdfium(path):
    import pypdfium2

    document = pypdfium2.PdfDocument(path)
    texts = []
    for number in range(len(document)):
        page = document[number]
        text = page.get_textpage()
        texts.append(text.get_text_range())
        text.close()
        page.close()
    return "\n".join(texts)


def mupdf(path):
    import pymupdf

    pymupdf.TOOLS.mupdf_display_errors(False)
    document = pymupdf.open(path)
    if document.needs_pass:
        raise ValueError("password")
    return "\n".join(word[4] for page in document for word in page.get_text("words"))


def attempt(reader, path):
    try:
        return reader(path)
    except Exception:
        return None


def cost(runs, command):
    seconds, memory = float("inf"), 0.0
    for _ in range(runs):
        child = os.fork()
        if child == 0:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            os.execvp(command[0], command)
        _, _, used = os.wait4(child, 0)
        seconds = min(seconds, used.ru_utime + used.ru_stime)
        memory = max(memory, used.ru_maxrss / 1024)
    return {"seconds": seconds, "mebibytes": memory}


def large(out, pages, path):
    import pypdf

    writer = pypdf.PdfWriter()
    reader = pypdf.PdfReader(path)
    while len(writer.pages) < pages:
        for page in reader.pages[: pages - len(writer.pages)]:
            writer.add_page(page)
    writer.write(out)


task, rest = sys.argv[1], sys.argv[2:]
if task == "words":
    print(json.dumps({"pdfium": attempt(pdfium, rest[0]), "mupdf": attempt(mupdf, rest[0])}))
elif task == "pdfium":
    import pypdfium2

    for path in rest:
        attempt(pdfium, path)
elif task == "cost":
    print(json.dumps(cost(int(rest[0]), rest[2:])))
elif task == "large":
    large(rest[0], int(rest[1]), rest[2])
else:
    sys.exit("unknown task")
