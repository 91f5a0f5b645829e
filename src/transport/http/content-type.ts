/** The `Content-Type` of a body. */

/** In lowercase. */
export function contentTypeOf(text: string): { readonly essence: string; readonly parameters: readonly string[] } {
  const [essence = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  return { essence, parameters };
}

/** The rule that the charset breaks; undefined when it is valid or absent. */
export function charsetFault(contentType: string): string | undefined {
  const charsets = contentTypeOf(contentType).parameters.filter((parameter) => /^charset\s*=/.test(parameter));
  const isUtf8 = charsets.every((charset) => /^charset=(?:utf-?8|"utf-?8")$/.test(charset));
  return isUtf8 ? undefined : 'must have the charset utf-8 or none';
}
