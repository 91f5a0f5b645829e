/** The contents of an image: a bill of materials for scanners, in CycloneDX 1.6, and a list of licences for people. */

/** A package, or a program. */
export interface Software {
  readonly name: string;
  readonly version: string;
  /** An expression of SPDX. */
  readonly license: string;
  /** Paths in the image; empty when the package has no licence file, only the expression. */
  readonly licenseFiles: readonly string[];
  /** The address of the package (purl). */
  readonly purl: string;
  readonly hash?: { readonly alg: 'SHA-256' | 'SHA-512'; readonly content: string };
  /** Libraries linked into it: names and versions. */
  readonly parts?: Readonly<Record<string, string>>;
}

export interface Release {
  readonly version: string;
  readonly commit: string;
  /** In the time format of RFC 3339. */
  readonly created: string;
}

/** Has no serial number, which would differ each time. */
export function sbom({ version, commit, created }: Release, software: readonly Software[]): string {
  const document = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      timestamp: created,
      component: {
        type: 'application',
        'bom-ref': 'cairn',
        name: 'cairn',
        version,
        licenses: [{ expression: 'Apache-2.0' }],
        properties: [{ name: 'cairn:commit', value: commit }],
      },
    },
    components: software.map(({ parts = {}, license, purl, hash, ...named }) => ({
      type: 'library',
      'bom-ref': purl,
      name: named.name,
      version: named.version,
      licenses: [{ expression: license }],
      purl,
      ...(hash === undefined ? {} : { hashes: [hash] }),
      components: Object.entries(parts).map(([name, partVersion]) => ({
        type: 'library',
        'bom-ref': `${purl}#${name}`,
        name,
        version: partVersion,
        purl: `pkg:generic/${name}@${encodeURIComponent(partVersion)}`,
      })),
    })),
  };
  return `${JSON.stringify(document, null, 1)}\n`;
}

export function licenseList(software: readonly Software[]): string {
  const lines = software.map(
    ({ name, version, license, licenseFiles }) => `${name} ${version}\t${license}\t${licenseFiles.join(' ')}`,
  );
  return `cairn\tApache-2.0\t/opt/cairn/LICENSE\n${lines.join('\n')}\n`;
}
