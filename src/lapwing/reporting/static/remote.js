// A model on the server that this page came from.

function remoteModel(model) {
  let abort = new AbortController();
  let rows = null;

  async function ask(method, path, body, signal) {
    for (let attempt = 1; ; attempt++) {
      const options = { method, signal, headers: body ? { "content-type": "application/json" } : {}, body: body && JSON.stringify(body) };
      let response;
      try {
        response = await fetch(path, options);
      } catch (error) {
        throw new Error(error.name === "AbortError" ? "A later text has come." : "The server does not answer.");
      }
      if (response.ok) return response.json();
      const said = await response.json().catch(() => ({}));
      if (response.status !== 503 || attempt === 3) throw new Error(`The server says: ${said.error ?? response.statusText}`);
      await new Promise((resolve) => setTimeout(resolve, 1000 * Number(response.headers.get("retry-after") ?? 1)));
    }
  }

  // The class of two that has the weights; of more all have.
  async function withWeights() {
    const { models } = await ask("GET", "v1/models");
    if (models.find((one) => one.name === model)?.classes !== 2) return new Set();
    return new Set((await ask("GET", `v1/models/${encodeURIComponent(model)}/categories`)).categories.map((one) => one.name));
  }

  async function classify(text, promise = { kind: null }) {
    abort.abort();
    abort = new AbortController();
    const wanted = promise.kind ? { [promise.kind]: promise.rate, ...(promise.abstain ? { abstain: true } : {}) } : {};
    rows ??= await withWeights();
    const { results: [found] } = await ask("POST", "v1/classify", { model, text, ...wanted }, abort.signal);
    const chosen = new Set(found.predicted);
    // Of two exclusive classes one has the weights; for the other they speak the other way round.
    return Object.entries(found.probabilities).map(([label, value]) => ({
      name: label, sign: !rows.size || rows.has(label) ? 1 : -1, probability: value, chosen: chosen.has(label),
    }));
  }

  async function explain(text, one) {
    const named = one.sign > 0 ? { categories: [one.name] } : {};
    const found = await ask("POST", "v1/explain", { model, text, ...named });
    return { text: found.text, ...found.categories[0] };
  }

  return { classify, explain, title: model };
}
