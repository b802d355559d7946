// A model on the server that this page came from.

function remoteModel(model) {
  let abort = new AbortController();

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

  async function classify(text, promise = { kind: null }) {
    abort.abort();
    abort = new AbortController();
    const wanted = promise.kind ? { [promise.kind]: promise.rate, ...(promise.abstain ? { abstain: true } : {}) } : {};
    const { results: [found] } = await ask("POST", "v1/classify", { model, text, ...wanted }, abort.signal);
    const chosen = new Set(found.predicted);
    return Object.entries(found.probabilities).map(([label, value]) => ({ name: label, probability: value, chosen: chosen.has(label) }));
  }

  async function explain(text, one) {
    const found = await ask("POST", "v1/explain", { model, text, categories: [one.name] });
    return { text: found.text, ...found.categories[0] };
  }

  return { classify, explain, title: model };
}
