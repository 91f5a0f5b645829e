/** Adds the setting with which a node with an empty data directory founds a cluster, unless it joins or bootstraps. */
export function foundingUnlessJoining(settings: readonly string[]): readonly string[] {
  return settings.some((each) => /^--(?:join|bootstrap)=/.test(each)) ? [] : ['--bootstrap=alone'];
}
