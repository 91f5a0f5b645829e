/**
 * Shows JSON as the text that was sent: with numbers that JavaScript cannot represent, the order of names, and duplicate
 * names. It expects valid JSON from a server, and checks nothing.
 */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/g;
const INDENT = '  ';

/**
 * Returns the same text, indented over lines.
 * @param {string} text
 */
export function laidOut(text) {
  let line = '\n';
  let shown = '';
  let before = '';
  for (const [token] of text.matchAll(TOKEN)) {
    if (isEnd(token)) line = line.slice(0, -INDENT.length);
    // Brackets with nothing between them stay together.
    if (isStart(before) ? !isEnd(token) : before === ',' || isEnd(token)) shown += line;
    shown += token === ':' ? ': ' : token;
    if (isStart(token)) line += INDENT;
    before = token;
  }
  return shown;
}

/**
 * The members of an object, by name, each as its text; of an array its items, without names.
 * @param {string} text
 * @returns {(readonly [name: string, text: string])[]}
 */
export function partsOf(text) {
  /** @type {[string, string][]} */
  const parts = [];
  let depth = 0;
  let name = '';
  let from = 0;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (isEnd(token)) depth -= 1;
    const isBetween = depth === 1 && token === ',';
    if (isBetween || (depth === 0 && isEnd(token))) {
      const part = text.slice(from, index).trim();
      if (part !== '') parts.push([name, part]);
    } else if (depth === 1 && token === ':') name = String(JSON.parse(text.slice(from, index)));
    const isOuter = depth === 0 && isStart(token);
    if (isOuter || isBetween || (depth === 1 && token === ':')) from = index + 1;
    if (isStart(token)) depth += 1;
  }
  return parts;
}

/** @param {string} token */
function isStart(token) {
  return token === '{' || token === '[';
}

/** @param {string} token */
function isEnd(token) {
  return token === '}' || token === ']';
}
