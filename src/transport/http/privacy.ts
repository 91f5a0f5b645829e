/** Who may keep an answer: with authentication on, nobody but the one that it is for (SPEC-HTTP-R6). */
import type { Authenticator } from '#auth';

export interface Privacy {
  /** Whether the server requires a credential. */
  readonly isRequired: boolean;
  /** The headers by which it finds out who asks; undefined: it does not know all of them. */
  readonly inputs: readonly string[] | undefined;
}

export const PUBLIC: Privacy = { isRequired: false, inputs: [] };

export function privacyOf({ inputs }: Authenticator): Privacy {
  return { isRequired: true, inputs };
}
