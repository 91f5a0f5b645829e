/** What a body is said to be. */

interface ContentType {
  /** In lowercase, as its parameters are. */
  readonly essence: string;
  readonly parameters: readonly string[];
}

export function contentTypeOf(text: string): ContentType {
  const [essence = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  return { essence, parameters };
}

/** What would be right of the charset; undefined: it is, or there is none. */
export function charsetFault(contentType: string): string | undefined {
  const charsets = contentTypeOf(contentType).parameters.filter((parameter) => /^charset\s*=/.test(parameter));
  const isUtf8 = charsets.every((charset) => /^charset=(?:utf-?8|"utf-?8")$/.test(charset));
  return isUtf8 ? undefined : 'must have the charset utf-8 or none';
}
