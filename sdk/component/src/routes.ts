/** Routes: `METHOD /path/{name}`; the matching route with the most fixed segments wins. */

export interface Found<Target> {
  readonly target: Target;
  readonly parameters: Readonly<Record<string, string>>;
}

interface Route<Target> {
  readonly text: string;
  readonly method: string;
  readonly segments: readonly string[];
  readonly target: Target;
}

const ROUTE = /^([A-Z]+) (\/\S*)$/;
const NAMED = /^\{([A-Za-z_][\w-]*)\}$/;

export class Router<Target> {
  readonly #routes: readonly Route<Target>[];

  /** @throws TypeError for a malformed or duplicate route. */
  constructor(routes: Readonly<Record<string, Target>>) {
    const parsed = Object.entries(routes).map(([text, target]) => routeOf(text, target));
    const shapes = new Set(parsed.map((route) => shapeOf(route)));
    if (shapes.size < parsed.length) throw new TypeError('Two routes take the same commands; give them another path');
    this.#routes = parsed.toSorted((a, b) => (shapeOf(a) < shapeOf(b) ? -1 : 1));
  }

  find(method: string, path: string): Found<Target> | undefined {
    const [bare = ''] = path.split('?');
    const segments = bare.split('/').slice(1);
    for (const route of this.#routes) {
      const parameters = route.method === method.toUpperCase() ? matched(route.segments, segments) : undefined;
      if (parameters !== undefined) return { target: route.target, parameters };
    }
    return undefined;
  }

  /** Lists the routes for a message. */
  known(): string {
    return `there is ${this.#routes.map(({ text }) => text).join(', ') || 'nothing'}`;
  }
}

function routeOf<Target>(text: string, target: Target): Route<Target> {
  const [, method, path] = ROUTE.exec(text) ?? [];
  if (method === undefined || path === undefined) {
    throw new TypeError(`The route "${text}" is none; write it like "POST /accounts/{account}/deposits"`);
  }
  const segments = path.split('/').slice(1);
  const broken = segments.find((segment) => /[{}]/.test(segment) && !NAMED.test(segment));
  if (broken !== undefined) throw new TypeError(`The segment "${broken}" of "${text}" is neither fixed nor {named}`);
  return { text, method, segments, target };
}

/** Sorted by this, a fixed segment comes before a named one in the same place. */
function shapeOf({ method, segments }: Route<unknown>): string {
  return `${method} ${segments.map((segment) => (NAMED.test(segment) ? '\u{10ffff}' : `/${segment}`)).join('/')}`;
}

function matched(route: readonly string[], segments: readonly string[]): Readonly<Record<string, string>> | undefined {
  if (route.length !== segments.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [index, expected] of route.entries()) {
    const given = decoded(segments[index] ?? '');
    const name = NAMED.exec(expected)?.[1];
    if (given === undefined || (name === undefined ? given !== expected : given === '')) return undefined;
    if (name !== undefined) parameters[name] = given;
  }
  return parameters;
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
