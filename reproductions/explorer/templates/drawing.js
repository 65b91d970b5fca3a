"use strict";
// Draws what a network attends to in a text. Texts and tokens reach the page through textContent, title and aria-label
// alone; nothing here parses HTML.
const drawing = (() => {
  const LONGEST = 60; // tokens along one side of a matrix that can be looked at
  const END = "</s>"; // the end of a translation, as figures have it
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
  let answer, view, state, keep; // of the text that is drawn
  let playing = 0, redraw = () => {};

  const percent = (weight) => (100 * weight).toFixed(weight < 0.0995 ? 1 : 0) + " %";
  const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

  function element(name, className, text) {
    const node = document.createElement(name);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  }
  const button = (text, className, onclick) => {
    const node = element("button", className, text);
    node.type = "button";
    node.addEventListener("click", onclick);
    return node;
  };
  const code = (character) => "U+" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
  // A token of invisible characters is shown as their code points; of byte pairs, morphemes and pieces, how they were cut:
  // `@@` continues in the next token, `￭` is on the side where there was no space, `▁` begins a word.
  function shown(token) {
    if (/^[\s\p{C}]+$/u.test(token)) return [...token].map(code).join(" ");
    return token.replace(/@@$/, "-").replace(/(?<=.)￭$|^￭(?=.)/g, "").replace(/^▁/, "") || "␣";
  }
  const cut = (before, token) => /@@$|[^￭]￭$/.test(before) || /^￭[^￭]/.test(token);

  // How dark. Of a distribution over a text: nothing up to the mean weight of its tokens, then by the logarithm, full at
  // eight times the mean; neither padding nor tokens that the query cannot attend to count. Of an alignment, which is
  // nearly all on a word or two: in proportion to the root of the weight.
  function meanOf(weights, [begin, end] = [0, weights.length]) {
    return weights.slice(begin, end).reduce((sum, weight) => sum + weight, 0) / (end - begin || 1);
  }
  const relative = (weight, mean) => (weight > mean ? clamp(Math.log2(weight / mean) / 3, 0, 1) : 0);
  const absolute = (weight) => Math.sqrt(clamp(weight, 0, 1));
  function shade(node, share, low) {
    node.style.setProperty("--share", share.toFixed(3));
    node.classList.toggle("low", Boolean(low));
  }

  // --- tokens ---

  function tokenOf(tokens, position, pressable) {
    const node = element(pressable ? "button" : "span", "token", shown(tokens[position]));
    if (pressable) { node.type = "button"; node.tabIndex = position ? -1 : 0; }
    node.dataset.position = position;
    node.append(element("small"));
    return node;
  }
  function label(node, token, weight) {
    const text = weight === null ? "" : percent(weight);
    node.lastChild.textContent = text;
    node.title = node.ariaLabel = text ? `${token}: ${text}` : token;
  }
  function tokenLine(tokens, { joined = [], unknown = [], pressable = false, name = "" } = {}) {
    const line = element("p", "tokens");
    line.lang = view.language;
    if (name) line.setAttribute("aria-label", name);
    tokens.forEach((_, position) => {
      const follows = joined.includes(position) || (position > 0 && cut(tokens[position - 1], tokens[position]));
      if (position && !follows) line.append(" ");
      const node = tokenOf(tokens, position, pressable);
      node.classList.toggle("joined", follows);
      node.classList.toggle("unknown", unknown.includes(position));
      line.append(node);
    });
    return line;
  }
  function paint(line, tokens, weights, share, range) {
    const mean = weights ? meanOf(weights, range) : 0;
    line.querySelectorAll(".token").forEach((node, position) => {
      const weight = weights ? weights[position] ?? null : null;
      label(node, shown(tokens[position]), weight);
      shade(node, weight === null ? 0 : share(weight, mean), weight !== null && weight < mean / 2 && share === relative);
    });
  }
  // One token of a line is in the tab order; the arrows move from there.
  function roving(line, onmove) {
    line.addEventListener("keydown", (event) => {
      const tokens = [...line.querySelectorAll("button.token")];
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const position = tokens.indexOf(document.activeElement);
      let next = step ? position + step : event.key === "Home" ? 0 : event.key === "End" ? tokens.length - 1 : null;
      if (next === null || position < 0) return;
      event.preventDefault();
      next = clamp(next, 0, tokens.length - 1);
      tokens.forEach((node, index) => { node.tabIndex = index === next ? 0 : -1; });
      tokens[next].focus();
      if (onmove) onmove(Number(tokens[next].dataset.position));
    });
  }

  // --- matrix ---

  function matrixOf(rows, columns, weights, share, caption, windows) {
    const frame = element("div", "matrix"), table = element("table"), head = element("tr");
    frame.tabIndex = 0;
    frame.setAttribute("role", "region");
    frame.setAttribute("aria-label", caption);
    const corner = element("td");
    head.append(corner, ...columns.map((token) => {
      const cell = element("th");
      cell.scope = "col";
      cell.append(element("span", "", shown(token)));
      cell.title = shown(token);
      return cell;
    }));
    const top = element("thead"), body = element("tbody");
    top.append(head);
    weights.forEach((row, query) => {
      const line = element("tr"), name = element("th", "", rows[query]);
      name.scope = "row";
      name.title = rows[query];
      line.append(name);
      const [begin, end] = windows ? windows[query] : [0, row.length], mean = meanOf(row, [begin, end]);
      row.forEach((weight, column) => {
        const cell = element("td", "cell", (100 * weight).toFixed(0));
        cell.title = `${rows[query]} → ${shown(columns[column])}: ${percent(weight)}`;
        if (column < begin || column >= end) { cell.classList.add("outside"); cell.textContent = ""; }
        else cell.style.setProperty("--share", share(weight, mean).toFixed(3));
        line.append(cell);
      });
      body.append(line);
    });
    table.append(top, body);
    table.lang = view.language;
    frame.append(table);
    const whole = element("div");
    whole.append(frame, element("p", "caption", caption));
    return whole;
  }
  const tooLarge = (rows, columns) => Math.max(rows, columns) > LONGEST;
  const noMatrix = () => element("p", "caption", `The matrix is shown for texts of up to ${LONGEST} tokens.`);

  // --- what networks say ---

  function drawClasses() {
    const list = element("dl", "classes"), best = Math.max(...view.classes.map(([, p]) => p));
    view.classes.forEach(([name, p]) => {
      const mark = p === best ? " best" : "", bar = element("dd", "bar" + mark), fill = element("span");
      fill.style.setProperty("--share", p);
      bar.append(fill);
      list.append(element("dt", mark.trim(), name), bar, element("dd", mark.trim(), (100 * p).toFixed(1) + " %"));
    });
    answer.append(element("h2", "", "Prediction"), list);
  }

  function drawNotes() {
    const notes = [...view.notes];
    if (view.unknown.length) notes.push("Dotted: not in the vocabulary.");
    if (!notes.length) return;
    const list = element("ul", "notes");
    list.append(...notes.map((note) => element("li", "", note)));
    answer.append(list);
  }

  function legend(parts) {
    const line = element("p", "legend");
    parts.forEach(([text, share, className]) => {
      const node = element("span", share === null ? "" : `token ${className ?? ""}`, text);
      if (share !== null) node.style.setProperty("--share", share);
      line.append(node);
    });
    return line;
  }
  const RELATIVE = [["Shade: multiples of the mean weight of a token,", null], ["below ½", 0, "low"], ["1", 0], ["2×", 1 / 3], ["4×", 2 / 3], ["8× or more", 1]];

  function drawText() {
    if (view.classes.length) drawClasses();
    const { tokens, matrix, queries } = view;
    const words = queries === "word", square = matrix && (queries === "token" || words);
    const names = square ? (words ? tokens.slice(1) : tokens).map(shown) : (matrix ?? []).map((_, row) => `${queries} ${row + 1}`);
    const columns = words ? tokens.slice(0, -1) : tokens;
    // Where each token attends only to those before it, the first one attends to nothing.
    const causal = square && !words && matrix.every((row, query) => row.slice(query).every((weight) => weight === 0));
    const before = square && (words || causal) ? matrix.map((_, row) => [0, words ? row + 1 : row]) : null;
    answer.append(element("h2", "", view.surprise.length ? "Each word, and the words before it" : "Tokens"));
    if (view.surprise.length) {
      const mean = view.surprise.reduce((sum, nats) => sum + nats, 0) / view.surprise.length;
      answer.append(element("p", "caption", `Perplexity ${Math.exp(mean).toFixed(1)} with the end of the line.`));
    }
    if (view.sentences.length) drawSentences();
    else {
      const line = tokenLine(tokens, { ...view, pressable: Boolean(square), name: "Tokens shaded by attention" });
      const explain = element("p", "caption");
      answer.append(line, explain);
      const mean = view.weights ?? (matrix ? matrix[matrix.length - 1] : null);
      redraw = () => {
        const row = square && state.query !== null ? state.query - (words ? 1 : 0) : null;
        const chosen = row !== null && row >= 0 && row < matrix.length ? row : null;
        const weights = chosen === null ? mean : matrix[chosen];
        paint(line, tokens, weights, relative, before && chosen !== null ? before[chosen] : undefined);
        line.querySelectorAll(".token").forEach((node, position) => {
          node.classList.toggle("chosen", position === state.query && chosen !== null);
          if (node.type === "button") node.ariaPressed = position === state.query && chosen !== null;
        });
        answer.querySelectorAll(".matrix tbody tr").forEach((node, position) => node.classList.toggle("chosen", position === chosen));
        explain.textContent = !square ? (matrix ? "The mean of all hops." : "") : chosen !== null
          ? `What “${shown(tokens[state.query])}” attends to.` + (view.surprise.length ? ` p = ${percent(Math.exp(-view.surprise[state.query - 1]))}.` : "")
          : words ? "What the last word attends to; choose another word." : "The mean of all queries; choose a token to see what it attends to.";
      };
      if (square) {
        const choose = (position) => { state.query = state.query === position ? null : position; redraw(); keep(); };
        line.addEventListener("click", (event) => {
          const node = event.target.closest("button.token");
          if (node) choose(Number(node.dataset.position));
        });
        roving(line);
        line.addEventListener("keydown", (event) => { if (event.key === "Escape") { state.query = null; redraw(); keep(); } });
      }
    }
    drawNotes();
    if (view.weights || matrix) answer.append(legend(RELATIVE));
    if (matrix && !square) {
      answer.append(element("h2", "", "Hops"));
      matrix.forEach((row, hop) => {
        const line = tokenLine(tokens, { ...view, name: names[hop] }), frame = element("div", "line");
        paint(line, tokens, row, relative);
        frame.append(element("span", "name", names[hop]), line);
        answer.append(frame);
      });
    }
    if (matrix) {
      answer.append(element("h2", "", "Matrix"));
      const caption = `A row for each ${square ? "query" : "hop"}, a column for each token it attends to; per cent of the row.`
        + (before ? ` Hatched: not before the ${queries}.` : "");
      answer.append(tooLarge(names.length, columns.length) ? noMatrix() : matrixOf(names, columns, matrix, relative, caption, before));
    }
    drawHeads();
    redraw();
  }

  // Sentences with the weight of each, and the words shaded by their weight within the sentence.
  function drawSentences() {
    let start = 0;
    view.sentences.forEach(([weight, count]) => {
      const words = view.tokens.slice(start, start + count);
      const weights = view.weights ? view.weights.slice(start, start + count).map((one) => (weight > 0 ? one / weight : 0)) : null;
      const frame = element("div", "line"), name = element("span", "name"), line = tokenLine(words);
      const mark = element("span", "token", percent(weight));
      shade(mark, relative(weight, meanOf(view.sentences.map(([one]) => one))));
      name.append(mark);
      paint(line, words, weights, relative);
      frame.append(name, line);
      answer.append(frame);
      start += count;
    });
    answer.append(element("p", "caption", "Left: the weight of the sentence. Words: their weight within the sentence."));
  }

  function drawTranslation() {
    const chosen = clamp(state.alternative, 0, view.alternatives.length - 1);
    const { tokens, weights, windows } = view.alternatives[chosen];
    const target = [...tokens, END].slice(0, weights ? weights.length : undefined);
    const last = target.length - 1;
    answer.append(element("h2", "", "Alignment"));
    const source = tokenLine(view.tokens, { unknown: view.unknown, name: "Source" });
    const line = tokenLine(target, { pressable: Boolean(weights), name: "Translation" });
    line.lang = view.target || "";
    if (target.length > tokens.length) line.lastChild.classList.add("low");
    const frames = [["source", source], ["translation", line]].map(([name, tokens]) => {
      const frame = element("div", "line");
      frame.append(element("span", "name", name), tokens);
      return frame;
    });
    answer.append(...frames);
    if (!weights) { drawNotes(); drawAlternatives(chosen); return; }

    const player = element("div", "player"), slider = element("input"), where = element("output");
    slider.type = "range"; slider.min = 0; slider.max = last; slider.ariaLabel = "Word of the translation";
    const go = (step) => { state.step = clamp(step, 0, last); redraw(); keep(); };
    const play = button("▶", "", () => (playing ? pause() : start()));
    play.ariaLabel = "Play";
    const start = (from = state.step === null || state.step >= last ? 0 : state.step + 1) => {
      pause();
      go(from);
      play.textContent = "❚❚"; play.ariaLabel = "Pause";
      playing = setInterval(() => (state.step >= last ? pause() : go(state.step + 1)), 650);
    };
    const pause = () => { stop(); play.textContent = "▶"; play.ariaLabel = "Play"; };
    // Words that other translations of the beam have here, after the same words.
    const instead = (step) => {
      const others = view.alternatives.filter((other) => other.weights && tokens.slice(0, step).every((token, i) => other.tokens[i] === token));
      const words = others.map((other) => other.tokens[step] ?? END).filter((word) => word !== (tokens[step] ?? END));
      return [...new Set(words)].map(shown);
    };
    const back = button("‹", "", () => { pause(); go(state.step - 1); }), on = button("›", "", () => { pause(); go(state.step + 1); });
    back.ariaLabel = "Previous word"; on.ariaLabel = "Next word";
    slider.addEventListener("input", () => { pause(); go(Number(slider.value)); });
    line.addEventListener("click", (event) => {
      const node = event.target.closest("button.token");
      if (node) { pause(); go(Number(node.dataset.position)); }
    });
    roving(line, (position) => { pause(); go(position); });
    player.append(play, back, on, slider, where);
    const others = element("p", "caption");
    answer.append(player, others, legend([["Shade: the weight,", null], ["5 %", absolute(0.05)], ["25 %", absolute(0.25)], ["50 %", absolute(0.5)], ["100 %", 1]]));
    drawNotes();
    let frame = null;
    if (tooLarge(target.length, view.tokens.length)) answer.append(noMatrix());
    else {
      const caption = "A row for each word of the translation, as it was generated; a column for each source token."
        + (windows ? " Hatched: outside the local window." : "");
      frame = matrixOf(target.map(shown), view.tokens, weights, absolute, caption, windows);
      answer.append(frame);
    }
    drawHeads();
    drawAlternatives(chosen);
    if (state.step === null) state.step = last;
    redraw = () => {
      const step = state.step = clamp(state.step, 0, last);
      paint(source, view.tokens, weights[step], absolute);
      line.querySelectorAll(".token").forEach((node, position) => {
        node.classList.toggle("later", position > step);
        node.classList.toggle("chosen", position === step);
        node.ariaPressed = position === step;
        node.tabIndex = position === step ? 0 : -1;
      });
      if (frame) frame.querySelectorAll("tbody tr").forEach((row, position) => {
        row.classList.toggle("later", position > step);
        row.classList.toggle("chosen", position === step);
      });
      slider.value = step;
      slider.setAttribute("aria-valuetext", shown(target[step]));
      where.textContent = `${step + 1} of ${target.length}`;
      const words = instead(step);
      others.textContent = words.length ? `Here the beam also kept: ${words.map((word) => `“${word}”`).join(", ")}.` : "";
      others.hidden = view.alternatives.length < 2;
    };
    redraw();
    if (view.fresh && !calm.matches) start(0);
  }

  // All heads of a Transformer: a kind of attention, a layer and a head are chosen, and their matrix is drawn.
  function drawHeads() {
    if (!view.heads.length) return;
    const bar = element("div", "player"), place = element("div");
    const lists = ["Attention", "Layer", "Head"].map((name, position) => {
      const list = element("select"), frame = element("label", "", `${name} `);
      list.addEventListener("change", () => { state.head[position] = Number(list.value); show(); keep(); });
      frame.append(list);
      bar.append(frame);
      return list;
    });
    const fill = (position, words) => {
      state.head[position] = clamp(state.head[position], 0, words.length - 1);
      lists[position].replaceChildren(...words.map((word, index) => Object.assign(element("option", "", word), { value: index })));
      lists[position].value = state.head[position];
    };
    const numbers = (list) => list.map((_, index) => String(index + 1));
    const show = () => {
      fill(0, view.heads.map((one) => one.name));
      const { rows, columns, weights, causal } = view.heads[state.head[0]];
      fill(1, numbers(weights));
      fill(2, numbers(weights[state.head[1]]));
      const [, layer, head] = state.head;
      const caption = "A row for each query, a column for each token it attends to."
        + (view.alternatives.length > 1 ? " Of the first translation." : "") + (causal ? " Hatched: not generated yet." : "");
      const before = causal ? rows.map((_, row) => [0, row + 1]) : null;
      place.replaceChildren(matrixOf(rows.map(shown), columns, weights[layer][head], absolute, caption, before));
    };
    answer.append(element("h2", "", "Heads"), bar, place);
    show();
  }

  function drawAlternatives(chosen) {
    if (view.alternatives.length < 2) return;
    answer.append(element("h2", "", "In the beam"));
    const list = element("ol", "alternatives"), best = view.alternatives[0].text.split(" ");
    view.alternatives.forEach(({ text, log_p }, rank) => {
      const node = button("", "", () => { state.alternative = rank; state.step = null; view.fresh = false; draw(answer, view, state, keep); keep(); });
      node.ariaPressed = rank === chosen;
      const words = element("span");
      words.lang = view.target || "";
      text.split(" ").forEach((word, position) => {
        if (position) words.append(" ");
        words.append(rank && !best.includes(word) ? element("mark", "", word) : word);
      });
      if (!text) words.append(element("span", "muted", "(nothing)"));
      node.append(element("span", "rank", String(rank + 1)), words, element("span", "p", log_p == null ? "" : `ln p ${log_p.toFixed(2)}`));
      const item = element("li");
      item.append(node);
      list.append(item);
    });
    answer.append(list);
    answer.append(element("p", "caption", "The translations that the search kept, ranked by ln p and length; coloured are words that the first one does not have."));
  }

  /** Draw an answer into a section. `chosen` says which token, word and alternative is looked at, and is changed by keys
      and clicks; `changed` is called then. */
  function draw(section, answered, chosen, changed) {
    stop();
    [answer, view, state, keep] = [section, answered, chosen, changed];
    answer.replaceChildren();
    redraw = () => {};
    for (const name of ["joined", "unknown", "classes", "surprise", "sentences", "alternatives", "heads", "notes"]) view[name] ??= [];
    state.head ??= [0, 0, 0];
    view.queries ??= "token";
    (view.alternatives.length ? drawTranslation : drawText)();
    answer.hidden = false;
  }

  function stop() {
    clearInterval(playing);
    playing = 0;
  }

  return { draw, stop, element, button, shown, clamp, isPlaying: () => playing !== 0 };
})();
