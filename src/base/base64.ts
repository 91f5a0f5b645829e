/**
 * Base64 (RFC 4648): the standard alphabet with padding, and the URL-safe alphabet without.
 *
 * Reading is strict, so that every byte sequence has one spelling in each form: no white space, no missing or surplus
 * padding, and the unused bits of the last character are zero.
 */

// Every JavaScript runtime has both; their texts have a character per byte.
declare const atob: (base64: string) => string;
declare const btoa: (binary: string) => string;

/** Undefined when the text is not base64 with padding. */
export function fromBase64(text: string): Uint8Array | undefined {
  let binary: string;
  try {
    binary = atob(text);
  } catch {
    // It throws for text that is not base64, and for nothing else.
    return undefined;
  }
  // It accepts several spellings.
  if (btoa(binary) !== text) return undefined;
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

export function toBase64Url(bytes: Uint8Array): string {
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** Undefined when the text is not URL-safe base64 without padding. */
export function fromBase64Url(text: string): Uint8Array | undefined {
  if (/[+/=]/.test(text)) return undefined;
  return fromBase64(text.replaceAll('-', '+').replaceAll('_', '/') + '='.repeat(-text.length & 3));
}
