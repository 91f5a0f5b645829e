/** Reads our HTML pages for tests without a browser, relying on the form of our own templates. */

export interface HtmlPage {
  readonly title: string;
  /** Paths of its links, in order. */
  readonly links: readonly string[];
  /** Method and path of each form. */
  readonly requests: readonly string[];
  readonly text: string;
}

export function readHtmlPage(text: string): HtmlPage {
  const attributes = (pattern: RegExp): readonly string[] =>
    [...text.matchAll(pattern)].map(([, value = '']) => unescaped(value));
  return {
    title: unescaped(/<title>([^<]*) · Cairn<\/title>/.exec(text)?.[1] ?? ''),
    links: attributes(/<a [^>]*href="([^"]*)"/g).filter((path) => path.startsWith('/')),
    requests: [...text.matchAll(/<form[^>]* method="(\w+)" action="([^"]*)"(?: data-method="(\w+)")?/g)].map(
      ([, method = '', action = '', sent = method.toUpperCase()]) => `${sent} ${unescaped(action)}`,
    ),
    text,
  };
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&amp;': '&',
};

export function unescaped(text: string): string {
  return text.replaceAll(/&(?:lt|gt|quot|#39|amp);/g, (entity) => ENTITIES[entity] ?? entity);
}
