"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { element, button, shown, clamp } = drawing;
  const by = (id) => document.getElementById(id);
  const typing = Boolean(by("text"));
  const DELAY = 450; // milliseconds without a key before a text is read
  const state = { network: "", text: "", beam: 0, alternative: 0, step: null, query: null, head: [0, 0, 0] };
  let view = null, composing = false, timer = 0, asked = null;

  const draw = () => drawing.draw(by("answer"), view, state, keep);

  // --- what is asked ---

  const network = () => data.networks.find((one) => one.id === state.network);

  function keep() {
    const words = new URLSearchParams();
    words.set("m", state.network);
    if (typing) { if (state.text) words.set("t", state.text); if (state.beam) words.set("b", state.beam); }
    else words.set("e", state.example);
    if (state.alternative) words.set("a", state.alternative);
    if (state.step !== null && view?.alternatives?.length && !drawing.isPlaying()) words.set("s", state.step);
    if (state.query !== null) words.set("q", state.query);
    if (state.head.some(Boolean)) words.set("h", state.head.join("."));
    history.replaceState(null, "", "#" + words);
  }

  function fail(message) {
    by("error").textContent = message;
    by("error").hidden = !message;
  }

  async function ask(fresh) {
    clearTimeout(timer);
    if (asked) asked.abort();
    drawing.stop();
    fail("");
    state.text = by("text").value.trim();
    keep();
    if (!state.text) { by("answer").hidden = true; by("status").textContent = ""; return; }
    const mine = asked = new AbortController(), one = network();
    const slow = setTimeout(() => { by("status").textContent = "reading …"; }, 150);
    try {
      const body = { network: state.network, text: state.text };
      if (one.beam) body.beam = state.beam || one.beam;
      const response = await fetch("/api/attention", {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal: mine.signal,
      });
      const answer = await response.json();
      if (mine !== asked) return;
      if (!response.ok) { by("answer").hidden = true; fail(answer.error); return; }
      view = { ...answer, language: one.language, target: one.target, fresh };
      if (fresh) { state.alternative = 0; state.step = state.query = null; }
      draw();
      keep();
    } catch (error) {
      if (error.name !== "AbortError") { by("answer").hidden = true; fail("the explorer does not answer; is it still running?"); }
    } finally {
      clearTimeout(slow);
      if (mine === asked) { by("status").textContent = ""; asked = null; }
    }
  }

  function schedule() {
    clearTimeout(timer);
    const room = data.longest - by("text").value.length;
    by("left").textContent = room < 200 ? `${room} characters left` : "";
    timer = setTimeout(() => { if (!composing && by("text").value.trim() !== state.text) ask(true); }, DELAY);
  }

  function choose(id) {
    state.network = data.networks.some((one) => one.id === id) ? id : data.networks[0].id;
    const one = network();
    by("network").value = one.id;
    by("sample").hidden = !one.sample;
    by("about").textContent = [one.title, `trained on ${one.corpus}`, `parameters ${one.parameters_sha256.slice(0, 12)}…`].join(" · ");
    drawPages(one);
    if (typing) {
      by("text").lang = one.language;
      by("beam-label").hidden = !one.beam;
      by("beam").value = state.beam || one.beam || "";
      by("suggestions").replaceChildren(...(data.suggestions[`${one.task} ${one.language}`] ?? []).map((text) => {
        const node = button(text, "", () => { by("text").value = text; ask(true); });
        node.lang = one.language;
        return node;
      }));
    } else {
      by("example").replaceChildren(...one.examples.map((example, position) => {
        const words = example.text || example.tokens.map(shown).join(" ");
        const node = element("option", "", `${example.title}: ${words.length > 70 ? words.slice(0, 69) + "…" : words}`);
        node.value = position;
        return node;
      }));
    }
  }

  function show(fresh) {
    const one = network();
    state.example = clamp(Number(state.example) || 0, 0, one.examples.length - 1);
    by("example").value = state.example;
    view = { ...one.examples[state.example], language: one.language, target: one.target, fresh };
    draw();
    keep();
  }

  function drawPages(one) {
    const pages = data.pages.filter((page) => page.paper === one.paper || page.paper === "");
    by("pages").hidden = !pages.length;
    by("pages").querySelector("ul").replaceChildren(...pages.map((page) => {
      const item = element("li"), link = element("a", "", page.title);
      link.href = page.address;
      item.append(link);
      return item;
    }));
  }

  function restore() {
    const words = new URLSearchParams(location.hash.slice(1));
    const whole = (name) => (/^\d{1,4}$/.test(words.get(name) ?? "") ? Number(words.get(name)) : null);
    state.beam = clamp(whole("b") ?? 0, 0, data.widest);
    state.alternative = whole("a") ?? 0;
    state.step = whole("s");
    state.query = whole("q");
    state.head = (/^\d{1,2}\.\d{1,2}\.\d{1,2}$/.exec(words.get("h") ?? "")?.[0] ?? "0.0.0").split(".").map(Number);
    state.example = whole("e") ?? 0;
    const wanted = words.get("m"), known = !wanted || data.networks.some((one) => one.id === wanted);
    choose(wanted);
    if (typing) {
      by("text").value = (words.get("t") ?? "").slice(0, data.longest);
      if (by("text").value && known) ask(false);
      else by("answer").hidden = true;
      fail(known ? "" : `the network of this link, ${wanted}, is not here; choose another`);
    } else show(false);
  }

  const titles = { included: "Comes with the project", runs: "Your runs", given: "Given", published: "Published" };
  for (const group of new Set(data.networks.map((one) => one.group))) {
    const node = element("optgroup");
    node.label = titles[group];
    node.append(...data.networks.filter((one) => one.group === group).map((one) => {
      const run = one.group === "runs" ? `, ${one.id.split("/")[1]}` : ""; // preset, profile and data
      const name = typing ? `${one.source} — ${one.variant}, seed ${one.seed}${run}` : `${one.variant} — ${one.title}`;
      const option = element("option", "", name + (one.sample ? " (sample)" : ""));
      option.value = one.id;
      return option;
    }));
    by("network").append(node);
  }
  by("network").addEventListener("change", () => {
    Object.assign(state, { beam: 0, alternative: 0, step: null, query: null, head: [0, 0, 0], example: 0 });
    const before = network().language;
    choose(by("network").value);
    if (!typing) show(true);
    else {
      if (before !== network().language) by("text").value = "";
      ask(true);
    }
  });
  by("numbers").addEventListener("change", () => document.body.classList.toggle("numbers", by("numbers").checked));
  by("share").addEventListener("click", async () => {
    keep();
    try { await navigator.clipboard.writeText(location.href); by("status").textContent = "link copied"; }
    catch { by("status").textContent = "copy the address of this page"; }
  });
  by("ask").addEventListener("submit", (event) => { event.preventDefault(); if (typing) ask(true); });
  if (typing) {
    // A syllable of Hangul is not whole before its composition ends: until then nothing is read.
    by("text").addEventListener("compositionstart", () => { composing = true; clearTimeout(timer); });
    by("text").addEventListener("compositionend", () => { composing = false; schedule(); });
    by("text").addEventListener("input", schedule);
    by("text").addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
      event.preventDefault();
      ask(true);
    });
    by("beam").addEventListener("change", () => { state.beam = clamp(Number(by("beam").value) || 0, 0, data.widest); ask(true); });
  } else {
    by("example").addEventListener("change", () => {
      Object.assign(state, { alternative: 0, step: null, query: null, example: Number(by("example").value) });
      show(true);
    });
  }
  window.addEventListener("hashchange", restore);
  restore();
})();
