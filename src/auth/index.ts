/**
 * #auth: authentication.
 *
 * Purpose: the chain of extractors that identify the principal of a request from its headers or the certificate of its
 * connection, the principals, API keys and tokens that Cairn issued (key-extractor.ts), and tokens of identity
 * providers (identity-providers). The grants of a principal (#model) and the table of operations (#service,
 * permissions.ts) decide what it may do.
 *
 * Not here: HTTP, gRPC and MCP, which pass headers in and turn refusals into responses; the storage of keys
 * (#database).
 *
 * Invariants:
 *   U1  A request has one principal or is refused: the first extractor that finds a credential of its kind decides,
 *       and after an invalid credential no other extractor is called.
 *   U2  A header with a credential is sent once; a repeated header is refused, whatever its values.
 *   U3  A refusal only says that a credential is missing, or that it is invalid.
 *   U4  A secret is kept only in the principal that it identifies, and no object shows it when it
 *       is printed or written as JSON.
 *   U5  No claim of a token is trusted before its signature is verified, by a key of an issuer in the settings and
 *       with an asymmetric algorithm; a token never decides where its keys come from.
 */
export { issueKey } from './api-key.ts';
export { Authenticator, challenge } from './authenticator.ts';
export { basicExtractor } from './basic-extractor.ts';
export { type BootstrapKey, bootstrapExtractor, readBootstrapKey } from './bootstrap-key.ts';
export {
  type CertificateRule,
  CLIENT_CERT,
  certificateExtractor,
  clientCertOf,
} from './certificate-extractor.ts';
export type { Credentials, Extractor, Found, Principal } from './extractor.ts';
export { customExtractor } from './identity-providers/custom-extractor.ts';
export { readGrantsFile } from './identity-providers/grants-file.ts';
export type { GrantsOfRoles } from './identity-providers/identity.ts';
export type { KeySource, SourceParts } from './identity-providers/key-source.ts';
export { KeysByName } from './identity-providers/keys-by-name.ts';
export { readPemKey } from './identity-providers/pem-key.ts';
export { RemoteKeys } from './identity-providers/remote-keys.ts';
export { loadBalancerExtractor, oidcExtractor, signedHeaderExtractor } from './identity-providers/token-extractors.ts';
export { type KnownKeys, keyExtractor } from './key-extractor.ts';
