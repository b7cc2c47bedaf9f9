"use strict";
{
    const svg = document.querySelector("#drawing svg");
    const search = document.getElementById("search");
    const found = document.getElementById("found");
    const rows = [...document.querySelectorAll("tr.kernel")];
    const program = [...document.querySelectorAll("#program span")];
    const parts = [...svg.querySelectorAll(".node, .edge")];

    // ---- zoom and pan: the part of the drawing that is seen
    const box = svg.viewBox.baseVal;
    const whole = { x: box.x, y: box.y, width: box.width, height: box.height };
    svg.removeAttribute("width");
    svg.removeAttribute("height");
    const show = (x, y, width, height) => svg.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
    const fit = () => show(whole.x, whole.y, whole.width, whole.height);
    const inDrawing = (x, y) => new DOMPoint(x, y).matrixTransform(svg.getScreenCTM().inverse());

    svg.addEventListener("wheel", (event) => {
        event.preventDefault();
        const factor = Math.exp(Math.max(-200, Math.min(200, event.deltaY)) * 0.002);
        const at = inDrawing(event.clientX, event.clientY);
        if (box.width * factor < 40 || box.width * factor > whole.width * 20)
            return;
        show(at.x + (box.x - at.x) * factor, at.y + (box.y - at.y) * factor, box.width * factor, box.height * factor);
    }, { passive: false });

    let drag = null;
    svg.addEventListener("pointerdown", (event) => {
        drag = { from: inDrawing(event.clientX, event.clientY), x: event.clientX, y: event.clientY };
    });
    addEventListener("pointermove", (event) => {
        if (!drag || !event.buttons)
            return;
        const at = inDrawing(event.clientX, event.clientY);
        show(box.x + drag.from.x - at.x, box.y + drag.from.y - at.y, box.width, box.height);
    });
    document.getElementById("fit").addEventListener("click", fit);
    // Brings an element to the middle, at a size that can be read.
    const goTo = (element) => {
        const area = element.getBoundingClientRect();
        const at = inDrawing(area.x + area.width / 2, area.y + area.height / 2);
        const width = Math.min(whole.width, Math.max(svg.clientWidth * 0.9, element.getBBox().width * 1.3));
        const height = width * svg.clientHeight / svg.clientWidth;
        show(at.x - width / 2, at.y - height / 2, width, height);
    };

    // A drawing that is too large to be read as a whole is seen from its first kernel.
    const first = rows.length ? document.getElementById(rows[0].dataset.cluster) : null;
    if (first && Math.min(svg.clientWidth / whole.width, svg.clientHeight / whole.height) < 0.7)
        goTo(first);

    // ---- a kernel: its row, its cluster, its lines of the program
    const chooseOnly = (elements) => {
        document.querySelectorAll(".chosen").forEach((element) => element.classList.remove("chosen"));
        elements.forEach((element) => element.classList.add("chosen"));
    };
    const choose = (row, isFromDrawing) => {
        const cluster = document.getElementById(row.dataset.cluster);
        const name = row.dataset.operator;
        const lines = program.filter((line) => line.textContent.startsWith(`def ${name}(`) ||
            line.textContent.startsWith(`def ${name}[`) || line.textContent.trim().startsWith(`${name}.launch(`));
        chooseOnly([row, cluster, ...lines].filter((element) => element));
        if (lines.length)
            lines[0].scrollIntoView({ block: "center", inline: "nearest" });
        if (isFromDrawing)
            row.scrollIntoView({ block: "nearest" });
        else if (cluster)
            goTo(cluster);
    };
    rows.forEach((row) => {
        row.addEventListener("click", () => choose(row, false));
        row.addEventListener("keydown", (event) => event.key === "Enter" && choose(row, false));
    });
    svg.addEventListener("click", (event) => {
        const part = event.target.closest(".node, .cluster");
        const isMoved = drag && Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > 4;
        const row = part && !isMoved &&
            rows.find((r) => r.dataset.cluster === part.id || r.dataset.nodes.split(" ").includes(part.id));
        if (row)
            choose(row, true);
    });

    // ---- search: "relu", "layers.0.weight", "line 12"
    let hits = [], next = 0;
    const textOf = (part) => [...part.querySelectorAll("text, a")]
        .map((e) => e.localName === "a" ? e.getAttributeNS("http://www.w3.org/1999/xlink", "title") || "" : e.textContent).join(" ");
    const textOfRow = (row) => row.innerText + " " +
        row.querySelector(".lines").textContent.split(", ").map((line) => `line ${line}`).join(" ");
    const texts = new Map([...parts.map((part) => [part, textOf(part)]),
        ...rows.map((row) => [row, textOfRow(row)]), ...program.map((line) => [line, line.textContent])]
        .map(([element, text]) => [element, text.toLowerCase().replace(/\s+/g, " ")]));
    const find = () => {
        const query = search.value.trim().toLowerCase().replace(/\s+/g, " ");
        const isLine = /^line \d+$/.test(query);
        const matches = (text) => query !== "" &&
            (isLine ? new RegExp(`${query}\\b`).test(text) : text.includes(query));
        texts.forEach((text, element) => element.classList.toggle("hit", matches(text)));
        svg.classList.toggle("searching", query !== "");
        hits = parts.filter((part) => part.classList.contains("hit"));
        next = 0;
        found.textContent = query === "" ? "" : `${hits.length} in the drawing`;
    };
    const findNext = () => {
        if (hits.length)
            goTo(hits[next++ % hits.length]);
    };
    search.addEventListener("input", find);
    search.addEventListener("keydown", (event) => event.key === "Enter" && findNext());
    addEventListener("keydown", (event) => {
        if (event.key === "/" && document.activeElement !== search) {
            event.preventDefault();
            search.focus();
        }
    });
}
