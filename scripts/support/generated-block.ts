/**
 * Generated parts of hand-written pages. A block is between two comments, which are invisible on the rendered page:
 *
 *   <!-- begin generated: NAME -->
 *   <!-- end generated: NAME -->
 */

/** The content of the block, or undefined when the page does not have exactly one such block. */
export function readBlock(page: string, name: string): string | undefined {
  const parts = split(page, name);
  return parts === undefined ? undefined : parts.content.trim();
}

/** The page with the content of that block replaced. Throws when the page does not have exactly one such block. */
export function withBlock(page: string, name: string, content: string): string {
  const parts = split(page, name);
  if (parts === undefined) throw new Error(`The page needs one block "${begin(name)}" ... "${end(name)}"`);
  return `${parts.before}${begin(name)}\n${content}\n${end(name)}${parts.after}`;
}

function split(page: string, name: string): { before: string; content: string; after: string } | undefined {
  const [before, rest, ...moreBegins] = page.split(begin(name));
  if (before === undefined || rest === undefined || moreBegins.length > 0) return undefined;
  const [content, after, ...moreEnds] = rest.split(end(name));
  if (content === undefined || after === undefined || moreEnds.length > 0) return undefined;
  return { before, content, after };
}

function begin(name: string): string {
  return `<!-- begin generated: ${name} -->`;
}

function end(name: string): string {
  return `<!-- end generated: ${name} -->`;
}
