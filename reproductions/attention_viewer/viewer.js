"use strict";
(() => {
  // Corpus text reaches the page through textContent, title and dataset only; nothing here parses HTML.
  const data = JSON.parse(document.getElementById("data").textContent);
  const total = data.id.length;
  const examples = new Set(data.examples); // not of the corpus: shown, not counted
  const onlyExamples = examples.size === total; // some published pages, as the corpus is not published
  const PER_PAGE = 25;
  const SURE = 9500, UNSURE = 7000; // ten-thousandths
  const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const filters = ["query", "verdict", "gold", "predicted", "confidence", "in_train", "order", "matrix"];
  const by = Object.fromEntries([...filters, "numbers", "controls", "count", "page", "previous", "next", "reviews",
    "pages", "matrix-filter", "search-key", "address-note"].map((id) => [id, document.getElementById(id)]));
  let found = [];
  let page = 0;
  let haystack = null;

  const number = (value) => value.toLocaleString("en-US");
  const percent = (share) => (100 * share).toFixed(1) + " %";
  const fold = (text) => text.normalize("NFC").toLowerCase();

  function element(name, className, text) {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function piecesOf(index) {
    return data.pieces[index] === "" ? [] : data.pieces[index].split("\n");
  }

  function weightsOf(code) {
    const weights = [];
    for (let i = 0; i < code.length; i += 2) {
      weights.push((64 * DIGITS.indexOf(code[i]) + DIGITS.indexOf(code[i + 1])) / 4095);
    }
    return weights;
  }

  function textOf(index) {
    if (index in data.text) return data.text[index];
    return data.pieces[index].replaceAll("\n", "") + (data.rest[index] ?? "");
  }

  // How dark: nothing up to the uniform weight, then in proportion to the logarithm, full at eight times uniform.
  function shade(made, relative) {
    if (relative > 1) made.style.setProperty("--share", Math.min(1, Math.log2(relative) / 3).toFixed(3));
    else if (relative < 0.5) made.classList.add("low");
  }

  function search() {
    const query = fold(by.query.value.trim().replace(/\s+/g, " "));
    if (query && haystack === null) haystack = data.id.map((_, index) => fold(textOf(index).replace(/\s+/g, " ")));
    const { verdict, gold, predicted, confidence, in_train, order, matrix } =
      Object.fromEntries(filters.map((id) => [id, by[id].value]));
    found = [];
    for (let index = 0; index < total; index++) {
      const truth = data.gold[index], guess = data.predicted[index], probability = data.probability[index];
      if (verdict && (truth === "-" || (truth === guess) !== (verdict === "right"))) continue;
      if (gold && truth !== gold) continue;
      if (predicted && guess !== predicted) continue;
      if (confidence && (confidence === "sure" ? probability < SURE : probability >= UNSURE)) continue;
      if (in_train && data.in_train[index] !== in_train) continue;
      if (matrix && !(index in data.matrix)) continue;
      if (query && fold(data.id[index]) !== query && !haystack[index].includes(query)) continue;
      found.push(index);
    }
    const sign = order === "sure" ? -1 : 1;
    if (order) found.sort((a, b) => sign * (data.probability[a] - data.probability[b]) || a - b);
  }

  function drawTokens(index) {
    const line = element("div", "tokens");
    const pieces = piecesOf(index), weights = weightsOf(data.weights[index]);
    pieces.forEach((piece, position) => {
      const gap = piece.startsWith(" ");
      if (gap && position) line.append(" ");
      const token = gap ? piece.slice(1) : piece;
      const weight = weights[position], relative = weight * pieces.length;
      const made = element("span", "token", token);
      made.title = `${token}: ${percent(weight)} = ${relative.toFixed(2)} × uniform (1/${pieces.length})`;
      made.append(element("small", "", percent(weight)));
      shade(made, relative);
      line.append(made);
    });
    if (index in data.rest) {
      if (data.rest[index].startsWith(" ")) line.append(" ");
      const rest = element("span", "rest", data.rest[index].trim());
      rest.title = "not read by the model";
      line.append(rest);
    } else if (!pieces.length) {
      line.append(element("span", "nothing", "(no tokens)"));
    }
    return line;
  }

  function drawMatrix(index) {
    const tokens = piecesOf(index).map((piece) => piece.trimStart());
    const weights = weightsOf(data.matrix[index]);
    const frame = element("div", "matrix"), table = element("table"), head = element("tr");
    // Focusable, so that the arrow keys scroll it.
    frame.tabIndex = 0;
    frame.setAttribute("role", "region");
    frame.setAttribute("aria-label", "matrix of attention weights");
    table.append(element("caption", "", "A row for each query, a column for each key; per cent of the row."));
    head.append(element("td"), ...tokens.map((token) => element("th", "", token)));
    const top = element("thead"), body = element("tbody");
    top.append(head);
    // A row for each token, or for each of some other number of queries, which then have no names.
    const rows = weights.length / tokens.length;
    const queries = rows === tokens.length ? tokens : Array.from({ length: rows }, (_, row) => `query ${row + 1}`);
    queries.forEach((token, query) => {
      const row = element("tr");
      row.append(element("th", "", token));
      tokens.forEach((key, column) => {
        const weight = weights[query * tokens.length + column];
        const cell = element("td", "", (100 * weight).toFixed(0));
        cell.title = `${token} → ${key}: ${percent(weight)}`;
        shade(cell, weight * tokens.length);
        row.append(cell);
      });
      body.append(row);
    });
    table.append(top, body);
    frame.append(table);
    return frame;
  }

  function drawReview(index) {
    const article = element("article");
    article.tabIndex = 0;
    article.dataset.index = index;
    const facts = element("div", "facts");
    facts.lang = "en";
    const truth = data.gold[index], guess = data.predicted[index], probability = data.probability[index] / 10000;
    const certainty = probability > 0.999 ? "over 99.9 %" : percent(probability);
    if (truth === "-") facts.append(element("span", "", "no gold label"));
    else facts.append(truth === guess ? element("span", "right", "✓ right") : element("span", "wrong", "✗ wrong"));
    facts.append(element("span", "", `predicted ${data.labels[guess]}, ${certainty}`));
    if (truth !== "-") facts.append(element("span", "", `gold ${data.labels[truth]}`));
    facts.append(element("span", "", examples.has(index) ? data.id[index] : `id ${data.id[index]}`));
    if (data.in_train[index] === "1") facts.append(element("span", "", "occurs in train"));
    if (index in data.matrix) facts.append(element("span", "", "full matrix available"));
    const padding = 1 - weightsOf(data.weights[index]).reduce((sum, weight) => sum + weight, 0);
    if (data.weights[index] && padding > 0.02) facts.append(element("span", "", `${percent(padding)} went to padding`));
    article.append(facts, drawTokens(index));
    if (index in data.text) article.append(element("p", "original", data.text[index]));
    return article;
  }

  function toggle(article) {
    const open = article.classList.toggle("open");
    article.querySelector(".matrix")?.remove();
    if (open && article.dataset.index in data.matrix) article.append(drawMatrix(Number(article.dataset.index)));
  }

  function draw() {
    const pages = Math.max(1, Math.ceil(found.length / PER_PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    const counted = found.filter((index) => !examples.has(index)).length;
    const judged = found.filter((index) => data.gold[index] !== "-");
    const right = judged.filter((index) => data.gold[index] === data.predicted[index]).length;
    by.count.textContent = onlyExamples ? `${number(total)} example${total === 1 ? "" : "s"}` :
      `${number(counted)} of ${number(total - examples.size)} reviews` +
      (judged.length ? `, ${percent(right / judged.length)} right` : "");
    by.pages.hidden = pages === 1;
    by.page.textContent = `${number(page + 1)} of ${number(pages)}`;
    by.previous.disabled = page === 0;
    by.next.disabled = page === pages - 1;
    const shown = found.slice(page * PER_PAGE, (page + 1) * PER_PAGE).map(drawReview);
    by.reviews.replaceChildren(...(shown.length ? shown : [element("p", "nothing", "No review matches.")]));
    by.reviews.firstElementChild.lang ||= shown.length ? "" : "en";
  }

  function remember() {
    const state = new URLSearchParams();
    for (const id of filters) if (by[id].value) state.set(id, by[id].value);
    if (by.numbers.checked) state.set("numbers", "1");
    if (page) state.set("page", page + 1);
    history.replaceState(null, "", "#" + state);
  }

  function recall() {
    const state = new URLSearchParams(onlyExamples ? "" : location.hash.slice(1));
    for (const id of filters) {
      by[id].value = state.get(id) ?? "";
      if (by[id].selectedIndex === -1) by[id].value = "";
    }
    by.numbers.checked = state.get("numbers") === "1";
    page = (Number.parseInt(state.get("page"), 10) || 1) - 1;
    document.body.classList.toggle("numbers", by.numbers.checked);
    search();
    draw();
  }

  function refresh() {
    page = 0;
    document.body.classList.toggle("numbers", by.numbers.checked);
    search();
    draw();
    remember();
  }

  function turn(pages) {
    page += pages;
    draw();
    remember();
    by.reviews.scrollIntoView();
  }

  function move(step) {
    const articles = [...by.reviews.querySelectorAll("article")];
    const here = articles.indexOf(document.activeElement.closest("article"));
    articles[Math.min(Math.max(here + step, 0), articles.length - 1)]?.focus();
  }

  let pending = 0;
  by.query.addEventListener("input", () => {
    clearTimeout(pending);
    pending = setTimeout(refresh, 120);
  });
  by.controls.addEventListener("change", (event) => { if (event.target !== by.query) refresh(); });
  by.controls.addEventListener("submit", (event) => { event.preventDefault(); refresh(); });
  by.controls.addEventListener("reset", () => setTimeout(refresh));
  by.previous.addEventListener("click", () => turn(-1));
  by.next.addEventListener("click", () => turn(1));
  by.reviews.addEventListener("click", (event) => {
    const article = event.target.closest("article");
    if (article && !event.target.closest(".matrix") && getSelection().isCollapsed) toggle(article);
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (/^(INPUT|SELECT|BUTTON)$/.test(event.target.tagName)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (event.key.startsWith("Arrow") && event.target.closest(".matrix")) return;
    if (event.key === "/" && !onlyExamples) by.query.focus();
    else if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (event.key === "ArrowRight" && !by.next.disabled) turn(1);
    else if (event.key === "ArrowLeft" && !by.previous.disabled) turn(-1);
    else if (event.key === "Enter" && event.target.tagName === "ARTICLE") toggle(event.target);
    else return;
    event.preventDefault();
  });
  addEventListener("hashchange", recall);

  by["matrix-filter"].hidden = Object.keys(data.matrix).length === 0;
  by.controls.hidden = by["search-key"].hidden = by["address-note"].hidden = onlyExamples;
  recall();
})();
