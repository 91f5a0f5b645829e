/** Has a node with an empty data directory found a cluster, unless its settings say where it belongs. */
export function foundingUnlessJoining(settings: readonly string[]): readonly string[] {
  return settings.some((each) => /^--(?:join|bootstrap)=/.test(each)) ? [] : ['--bootstrap=alone'];
}
