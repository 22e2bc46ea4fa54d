// Renders conversations by @huggingface/jinja: a JSON object comes, a line an answer goes.
//
// Its errors name no place. So what raises is rendered once more with a call before every tag that
// notes which, and what cannot be parsed is parsed from a list that notes how far it was read.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const { Template, tokenize, parse } = createRequire(import.meta.url)(process.argv[2]);
const asked = JSON.parse(readFileSync(0, "utf8"));

// The clock that the template sees stands still.
const now = asked.clock.match(/\d+/g).map(Number);
const RealDate = Date;
globalThis.Date = class extends RealDate {
  constructor(...given) {
    given.length ? super(...given) : super(now[0], now[1] - 1, ...now.slice(2, 6));
  }
};

for (const variables of asked.conversations) {
  process.stdout.write(`${JSON.stringify(answer(variables))}\n`);
}

function answer(variables) {
  try {
    return { text: new Template(asked.template).render(variables) };
  } catch (error) {
    return { error: String(error.message ?? error), at: placeOf(variables) };
  }
}

function placeOf(variables) {
  return placeOfParsing() ?? placeOfRendering(variables);
}

function placeOfParsing() {
  let last = -1;
  let tokens = [];
  try {
    tokens = tokenize(asked.template, { lstrip_blocks: true, trim_blocks: true });
    const watched = new Proxy(tokens, {
      get(target, key) {
        if (typeof key === "string" && /^\d+$/.test(key)) last = Math.max(last, Number(key));
        return Reflect.get(target, key);
      },
    });
    parse(watched);
    return null;
  } catch {
    const begin = ["OpenStatement", "OpenExpression"];
    const tags = tokens.slice(0, last + 1).filter((each) => begin.includes(each.type));
    return asked.tags[tags.length - 1] ?? null;
  }
}

function placeOfRendering(variables) {
  let place = null;
  const note = (passed) => {
    place = Number(passed);
    return "";
  };
  try {
    new Template(asked.marked).render({ ...variables, [asked.note]: note });
  } catch {
    return place;
  }
  return null;
}
